-- Places of one account that are taken: a sorted set, scored by the time at which each expires.
-- KEYS[1] places   ARGV[1] most places, or 0 to look   ARGV[2] milliseconds until a place expires   ARGV[3] the new place
-- Returns { taken 0|1, places in use }, on this server's clock.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local used = redis.call('ZCARD', KEYS[1])
if used >= tonumber(ARGV[1]) then return { 0, used } end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 1, used + 1 }
