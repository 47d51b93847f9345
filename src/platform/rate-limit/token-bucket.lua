-- A token bucket as one number, the time at which it is full again (the virtual scheduling form of GCRA).
-- KEYS[1] bucket   ARGV[1] rate in tokens a minute   ARGV[2] burst   ARGV[3] tokens to take: 1, or 0 to look
-- KEYS[2] copy of the account's epoch   ARGV[4] the epoch that the caller holds, or '' for no matter
-- ARGV[5] 1 when the caller has just read it   ARGV[6] life of the copy in milliseconds
-- Returns { taken 0|1, microseconds until the bucket is full, now in microseconds }, on this server's clock; or
-- { -1, 0, 0 }, and takes nothing, when the caller's epoch is not known to be the current one.
-- In whole microseconds: sums stay exact, and rounding up never lets a request too many pass.
if ARGV[4] ~= '' then
  local held = tonumber(ARGV[4])
  local copy = tonumber(redis.call('GET', KEYS[2]) or -1)
  if copy > held or (copy ~= held and ARGV[5] ~= '1') then return { -1, 0, 0 } end
  if copy < held then redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[6]) end
end
local per_token = math.ceil(60000000 / tonumber(ARGV[1]))
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full_at = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local cost = tonumber(ARGV[3])
local backlog = full_at - now
if cost == 0 or backlog > per_token * (tonumber(ARGV[2]) - 1) then
  return { 0, backlog, now }
end
full_at = full_at + per_token
backlog = full_at - now
redis.call('SET', KEYS[1], string.format('%.0f', full_at), 'PX', math.ceil(backlog / 1000) + 1000)
return { 1, backlog, now }
