-- complete: settle a claim, the job is done.
--
--   KEYS  pending, active, base
--   ARGV  id, token
--   reply 1 done; 0 gone: there is no such row
--   error EMQSTALE: the token is stale; EMQARG: wrong number of keys or arguments
--
-- The fence comes before the first write. It asks no clock: a token is live until the next claim
-- mints its successor, even when the lease has lapsed and the reaper has returned the job.

if #KEYS ~= 3 or #ARGV ~= 2 then
  return redis.error_reply('EMQARG complete takes 3 keys (pending, active, base) and 2 arguments (id, token)')
end
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]
local id, token = ARGV[1], ARGV[2]

local row = base .. 'job:' .. id
local fence = redis.pcall('HMGET', row, 'attempts', 'spent')
if fence.err or not fence[1] then
  return 0
end

-- Compared as bytes: '01' and '1.0' are not the number, and '0' is no token.
local attempts, spent = fence[1], fence[2]
if token ~= attempts or token == spent or not string.find(token, '^[1-9][0-9]*$') then
  return redis.error_reply('EMQSTALE the token is not the live token of this job')
end

for _, key in ipairs({ pending, active }) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'zset' and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
end

-- From active, or from pending if it was swept.
redis.call('ZREM', active, id)
redis.call('ZREM', pending, id)
redis.call('DEL', row)
return 1
