-- extend: set the lease to end lease_ms from now.
--
--   KEYS  pending, active, base
--   ARGV  id, token, lease_ms
--   reply 1 extended; 0 gone: there is no such row
--   error EMQSTALE: the token is stale; EMQARG: a malformed argument, or a wrong number of them
--
-- It sets, and does not add: the new deadline counts from the server clock and may be earlier than
-- the old one. A job that the reaper returned is taken back, so it must leave pending too: else it
-- would be handed out while it is leased.

if #KEYS ~= 3 or #ARGV ~= 3 then
  return redis.error_reply('EMQARG extend takes 3 keys (pending, active, base) '
    .. 'and 3 arguments (id, token, lease_ms)')
end
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]
local id, token = ARGV[1], ARGV[2]

-- A canonical decimal integer in least ... most, or nil. tonumber() alone would let through blanks,
-- signs, exponents, 0x and inf, and a lease of inf is never reaped.
local function canonical(text, least, most)
  if #text > 16 or not (text == '0' or string.find(text, '^[1-9][0-9]*$')) then
    return nil
  end
  local number = tonumber(text)
  return number >= least and number <= most and number or nil
end

local lease = canonical(ARGV[3], 1, 2 ^ 52)
if not lease then
  return redis.error_reply('EMQARG lease_ms must be a canonical decimal integer in 1 ... 2^52')
end

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

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREM', pending, id)
redis.call('ZADD', active, string.format('%.0f', now + lease), id)
redis.call('HSET', row, 'state', 'active')
return 1
