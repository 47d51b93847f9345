-- Slots of one account that are taken: a sorted set, scored by the time at which each expires.
-- KEYS[1] slots   ARGV[1] most slots, or 0 to count   ARGV[2] milliseconds until a slot expires   ARGV[3] the new slot
-- Returns { taken 0|1, slots in use }, on this server's clock.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local used = redis.call('ZCARD', KEYS[1])
if used >= tonumber(ARGV[1]) then return { 0, used } end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 1, used + 1 }
