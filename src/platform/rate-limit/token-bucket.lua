-- Token buckets, each as one number: the time at which it is full again (GCRA in its virtual scheduling form). A token is
-- taken from all of them, or from none.
-- KEYS[i] bucket   ARGV[3i-2] capacity in tokens   ARGV[3i-1] whole microseconds in which one token is refilled
-- ARGV[3i] tokens to take: 1, or 0 to look
-- Returns { taken 0|1, microseconds until the first bucket is full, now in microseconds, the same of the second bucket },
-- on this server's clock.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local taken = 1
local backlogs = {}
for i, key in ipairs(KEYS) do
  local capacity = tonumber(ARGV[3 * i - 2])
  local refill = tonumber(ARGV[3 * i - 1])
  backlogs[i] = math.max(tonumber(redis.call('GET', key) or 0), now) - now
  if tonumber(ARGV[3 * i]) == 0 or backlogs[i] > refill * (capacity - 1) then taken = 0 end
end
if taken == 1 then
  for i, key in ipairs(KEYS) do
    backlogs[i] = backlogs[i] + tonumber(ARGV[3 * i - 1])
    redis.call('SET', key, string.format('%.0f', now + backlogs[i]), 'PX', math.ceil(backlogs[i] / 1000) + 1000)
  end
end
return { taken, backlogs[1], now, backlogs[2] }
