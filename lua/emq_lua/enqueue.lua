-- enqueue: admit a job.
--
--   KEYS  pending, base
--   ARGV  id, payload
--   reply 1 admitted; 0 duplicate: a row of that id exists, and nothing changed
--   error EMQKIND: not a valid JOB id; EMQARG: wrong number of keys or arguments
--
-- The id is judged before anything else, and every key that will be written is looked at before
-- the first write: a script is not rolled back, so an error must come while nothing has changed.

if #KEYS ~= 2 or #ARGV ~= 2 then
  return redis.error_reply('EMQARG enqueue takes 2 keys (pending, base) and 2 arguments (id, payload)')
end
local pending, base = KEYS[1], KEYS[2]
local id, payload = ARGV[1], ARGV[2]

local LAST = 'AzL8n0Y58m7' -- 2^63-1 in base 62

-- Byte by byte, because `<=` on strings follows the locale that the server was started in.
local function not_after(digits, last)
  for i = 1, #last do
    local a, b = string.byte(digits, i), string.byte(last, i)
    if a ~= b then
      return a < b
    end
  end
  return true
end

local digits = string.sub(id, 4)
if #id ~= 14
  or string.sub(id, 1, 3) ~= 'JOB'
  or string.find(digits, '[^0-9A-Za-z]')
  or not not_after(digits, LAST)
then
  return redis.error_reply('EMQKIND not a valid JOB id')
end

local row = base .. 'job:' .. id
local row_type = redis.call('TYPE', row).ok
if row_type == 'hash' then
  return 0
end
local pending_type = redis.call('TYPE', pending).ok
if row_type ~= 'none' or (pending_type ~= 'zset' and pending_type ~= 'none') then
  return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
end

-- The row goes first: an id in pending whose row is not there yet would be a ghost.
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload)
redis.call('ZADD', pending, 0, id)
return 1
