-- A token bucket as one number, the time at which it is full again (GCRA in its virtual scheduling form).
-- KEYS[1] bucket   ARGV[1] capacity in tokens   ARGV[2] whole microseconds in which one token is refilled
-- ARGV[3] tokens to take: 1, or 0 to look
-- Returns { taken 0|1, microseconds until the bucket is full, now in microseconds }, on this server's clock.
local capacity = tonumber(ARGV[1])
local refill = tonumber(ARGV[2])
local cost = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local backlog = full_at - now
if cost == 0 or backlog > refill * (capacity - 1) then
  return { 0, backlog, now }
end
full_at = full_at + refill
backlog = full_at - now
redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil(backlog / 1000) + 1000)
return { 1, backlog, now }
