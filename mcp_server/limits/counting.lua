-- Counts a call in moving windows and by UTC day, by the clock of Redis alone.
--
-- ARGV[1] says what to do:
-- hit, take_back: of each window KEYS has a list of the microseconds of its hits, oldest first, and
--       a hash of its day; ARGV its size, its length in microseconds, the most calls of a UTC day
--       (-1: days are not bounded). `hit` returns the seconds to midnight, then of each window
--       whether it fits (1 or 0), what is left, the microseconds to its reset, and today's calls.
-- resume: KEYS are hashes of days, ARGV the calls of each that were counted elsewhere.

local DAY, MARGIN = 86400, 3600

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local today = math.floor(time[1] / DAY)
local midnight = DAY - time[1] % DAY

-- A clock that was set back: what seems to lie ahead has happened by now.
local function settle(list, length)
  local ahead = 0
  while (tonumber(redis.call('LINDEX', list, -1)) or 0) > now do
    redis.call('RPOP', list)
    ahead = ahead + 1
  end
  for _ = 1, ahead do
    redis.call('RPUSH', list, now)
  end
  redis.call('PEXPIRE', list, length / 1000 + 1000)
end

-- Drops the hits that have left the window; returns the oldest that is still in it, if any is.
local function drop(list, length)
  local newest = tonumber(redis.call('LINDEX', list, -1))
  if not newest or newest <= now - length then
    redis.call('DEL', list)
    return nil
  elseif newest > now then
    settle(list, length)
  end
  local oldest = tonumber(redis.call('LINDEX', list, 0))
  while oldest <= now - length do
    redis.call('LPOP', list)
    oldest = tonumber(redis.call('LINDEX', list, 0))
  end
  return oldest
end

-- The day that is counted, and its calls. Around midnight the day that was counted goes on.
local function calls_of(hash)
  local kept = redis.call('HMGET', hash, 'day', 'calls')
  local day = tonumber(kept[1])
  if day == today or day == today + 1 then
    return day, tonumber(kept[2])
  end
  return today, 0
end

local function keep(hash, day, calls)
  redis.call('HSET', hash, 'day', day, 'calls', calls)
  redis.call('EXPIRE', hash, (day - today) * DAY + midnight + MARGIN)
end

-- What is in each window.
local windows, counted = {}, true
for n = 1, ARGV[1] == 'resume' and 0 or #KEYS / 2 do
  local window = {list = KEYS[2 * n - 1], hash = KEYS[2 * n], calls = 0}
  window.size, window.length = tonumber(ARGV[3 * n - 1]), tonumber(ARGV[3 * n])
  window.most = tonumber(ARGV[3 * n + 1])
  window.oldest = drop(window.list, window.length)
  window.live = window.oldest and redis.call('LLEN', window.list) or 0
  if window.most >= 0 then
    window.day, window.calls = calls_of(window.hash)
  end
  window.fits = window.live < window.size and (window.most < 0 or window.calls < window.most)
  counted = counted and window.fits
  windows[n] = window
end

local work = {}

function work.hit()
  local result = {midnight}
  for _, window in ipairs(windows) do
    if counted then
      redis.call('RPUSH', window.list, now)
      redis.call('PEXPIRE', window.list, window.length / 1000 + 1000)
      window.live, window.oldest = window.live + 1, window.oldest or now
      if window.most >= 0 then
        window.calls = window.calls + 1
        keep(window.hash, window.day, window.calls)
      end
    end
    result[#result + 1] = window.fits and 1 or 0
    result[#result + 1] = window.size - window.live
    result[#result + 1] = window.oldest and window.oldest + window.length - now or 0
    result[#result + 1] = window.calls
  end
  return result
end

function work.take_back()
  for _, window in ipairs(windows) do
    if window.live > 0 then
      redis.call('RPOP', window.list)
      if window.most >= 0 then
        keep(window.hash, window.day, math.max(0, window.calls - 1))
      end
    end
  end
  return {}
end

function work.resume()
  for n, hash in ipairs(KEYS) do
    local day, calls = calls_of(hash)
    keep(hash, day, math.max(calls, tonumber(ARGV[n + 1])))
  end
  return {}
end

return work[ARGV[1]]()
