-- retry: settle a claim, the job failed. It waits for delay_ms, unless it has used up its attempts.
--
--   KEYS  pending, active, schedule, dead, base
--   ARGV  id, token, delay_ms, max_attempts, error
--   reply 'scheduled'; 'dead'; 0 gone: there is no such row
--   error EMQSTALE: the token is stale; EMQARG: a malformed argument, or a wrong number of them
--
-- The arguments come before the fence and the fence before the first write. The token is marked as
-- spent: attempts does not change here, so without the mark the same token would settle again.

if #KEYS ~= 5 or #ARGV ~= 5 then
  return redis.error_reply('EMQARG retry takes 5 keys (pending, active, schedule, dead, base) '
    .. 'and 5 arguments (id, token, delay_ms, max_attempts, error)')
end
local pending, active, schedule, dead, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, token = ARGV[1], ARGV[2]

-- A canonical decimal integer in least ... most, or nil. tonumber() alone would let through blanks,
-- signs, exponents, 0x and inf.
local function canonical(text, least, most)
  if #text > 16 or not (text == '0' or string.find(text, '^[1-9][0-9]*$')) then
    return nil
  end
  local number = tonumber(text)
  return number >= least and number <= most and number or nil
end

local delay = canonical(ARGV[3], 0, 2 ^ 52)
if not delay then
  return redis.error_reply('EMQARG delay_ms must be a canonical decimal integer in 0 ... 2^52')
end
local max_attempts = canonical(ARGV[4], 1, 2 ^ 31 - 1)
if not max_attempts then
  return redis.error_reply('EMQARG max_attempts must be a canonical decimal integer in 1 ... 2^31-1')
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

for _, key in ipairs({ pending, active, schedule, dead }) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'zset' and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
end

-- The removals go first: they free memory, so a server that is out of it lets the script start,
-- and a script that has started is not stopped half way.
redis.call('ZREM', active, id)
redis.call('ZREM', pending, id)
if tonumber(attempts) >= max_attempts then
  redis.call('HSET', row, 'state', 'dead', 'last_error', ARGV[5], 'spent', token)
  redis.call('ZADD', dead, 0, id)
  return 'dead'
end
redis.call('HSET', row, 'state', 'scheduled', 'last_error', ARGV[5], 'spent', token)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', schedule, string.format('%.0f', now + delay), id)
return 'scheduled'
