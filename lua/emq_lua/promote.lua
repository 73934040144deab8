-- promote: move jobs whose time has come to pending.
--
--   KEYS  pending, schedule, base
--   ARGV  limit
--   reply how many ids left schedule
--   error EMQARG: a malformed argument, or a wrong number of keys or arguments
--
-- Due means due time <= server clock. The earliest go first, ties in byte order, which is the order
-- a sorted set keeps. The mark on the spent token stays: it is stale for good.

if #KEYS ~= 3 or #ARGV ~= 1 then
  return redis.error_reply('EMQARG promote takes 3 keys (pending, schedule, base) and 1 argument (limit)')
end
local pending, schedule, base = KEYS[1], KEYS[2], KEYS[3]

-- A canonical decimal integer in least ... most, or nil. tonumber() alone would let through blanks,
-- signs, exponents, 0x and inf.
local function canonical(text, least, most)
  if #text > 16 or not (text == '0' or string.find(text, '^[1-9][0-9]*$')) then
    return nil
  end
  local number = tonumber(text)
  return number >= least and number <= most and number or nil
end

local limit = canonical(ARGV[1], 1, 2 ^ 31 - 1)
if not limit then
  return redis.error_reply('EMQARG limit must be a canonical decimal integer in 1 ... 2^31-1')
end

for _, key in ipairs({ pending, schedule }) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'zset' and kind ~= 'none' then
    return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local due = redis.call('ZRANGEBYSCORE', schedule, '-inf', now, 'LIMIT', 0, limit)
for _, id in ipairs(due) do
  redis.call('ZREM', schedule, id)
  -- A ghost goes nowhere: writing its state would make a row of one field, a skeleton.
  local row = base .. 'job:' .. id
  if redis.call('TYPE', row).ok == 'hash' then
    redis.call('HSET', row, 'state', 'pending')
    redis.call('ZADD', pending, 0, id)
  end
end
return #due
