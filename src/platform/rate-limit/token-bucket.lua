-- Token buckets, each as one number: the time at which it is full again (GCRA in its virtual scheduling form). Tokens are
-- taken from all of them, the same number from each, as many as there are.
-- KEYS[i] bucket   ARGV[2i-1] capacity in tokens   ARGV[2i] whole microseconds in which one token is refilled
-- ARGV[#ARGV] tokens to take from each, 0 to look
-- Returns { tokens taken, microseconds until the first bucket is full, now in microseconds, the same of the second bucket },
-- on this server's clock.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local taken = tonumber(ARGV[#ARGV])
local backlogs = {}
for i, key in ipairs(KEYS) do
  local capacity = tonumber(ARGV[2 * i - 1])
  local refill = tonumber(ARGV[2 * i])
  backlogs[i] = math.max(tonumber(redis.call('GET', key) or 0), now) - now
  taken = math.min(taken, math.floor(capacity - backlogs[i] / refill))
end
-- A bucket whose capacity was lowered may hold less than nothing.
taken = math.max(taken, 0)
if taken > 0 then
  for i, key in ipairs(KEYS) do
    backlogs[i] = backlogs[i] + taken * tonumber(ARGV[2 * i])
    redis.call('SET', key, string.format('%.0f', now + backlogs[i]), 'PX', math.ceil(backlogs[i] / 1000) + 1000)
  end
end
return { taken, backlogs[1], now, backlogs[2] }
