-- claim: lease the first pending job.
--
--   KEYS  pending, active, base
--   ARGV  lease_ms
--   reply [] nothing to hand out; [id, payload, token] the job, leased under this token
--   error EMQARG: a malformed argument, or a wrong number of keys or arguments
--
-- Whether the queue is paused is the client's question, asked in its own round trip before this
-- script runs: a pause that falls between the two does not stop the claim.
--
-- The pop comes first, then the guard: an id whose row is gone, or is not a hash, is a ghost. It
-- has left pending by then, nothing more is written, and the answer is empty. The price of popping
-- first: with active of the wrong type, or attempts that are no integer, the error comes after
-- the pop, and the id has left pending.

if #KEYS ~= 3 or #ARGV ~= 1 then
  return redis.error_reply('EMQARG claim takes 3 keys (pending, active, base) and 1 argument (lease_ms)')
end
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]

-- A canonical decimal integer in least ... most, or nil. tonumber() alone would let through blanks,
-- signs, exponents, 0x and inf, and a lease of inf is never reaped.
local function canonical(text, least, most)
  if #text > 16 or not (text == '0' or string.find(text, '^[1-9][0-9]*$')) then
    return nil
  end
  local number = tonumber(text)
  return number >= least and number <= most and number or nil
end

local lease = canonical(ARGV[1], 1, 2 ^ 52)
if not lease then
  return redis.error_reply('EMQARG lease_ms must be a canonical decimal integer in 1 ... 2^52')
end

local id = redis.call('ZPOPMIN', pending)[1]
if not id then
  return {}
end

-- One read answers both: what to hand out, and whether there is a row at all.
local row = base .. 'job:' .. id
local payload = redis.pcall('HGET', row, 'payload')
if type(payload) ~= 'string' then
  return {}
end

local token = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- %.0f, because a number of this size would otherwise be written with an exponent.
redis.call('ZADD', active, string.format('%.0f', now + lease), id)
return { id, payload, token }
