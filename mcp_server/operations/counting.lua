-- Counts calls in moving windows and by UTC day, by the clock of Redis alone.
--
-- ARGV: calls, one after the other, each: what, a number, how many windows; then of each window its
--       size, its length in microseconds, the most calls of a UTC day (-1: days are not bounded).
-- KEYS: of each window a list of the microseconds of its hits, oldest first, and a hash of its day.
--       Of `look` and `resumed` the mark that says whether the calls of the day are known.
-- Returns of each call a list of integers: of `hit` the seconds to midnight, then of each window
--       whether it fits (1 or 0), what is left, the microseconds to its reset, and today's calls.

local DAY, MARGIN = 86400, 3600
local RESUMING, RESUMED = 30, 2 * 86400

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local today = math.floor(time[1] / DAY)
local midnight = DAY - time[1] % DAY

-- A clock that was set back: what seems to lie ahead has happened by now.
local function settle(list)
  local ahead = 0
  while (tonumber(redis.call('LINDEX', list, -1)) or 0) > now do
    redis.call('RPOP', list)
    ahead = ahead + 1
  end
  for _ = 1, ahead do
    redis.call('RPUSH', list, now)
  end
end

-- The newest and the oldest hit that are still in the window; nil if none is.
local function drop(list, length)
  local newest = tonumber(redis.call('LINDEX', list, -1))
  if newest and newest > now then
    settle(list)
    redis.call('PEXPIRE', list, length / 1000 + 1000)
    newest = now
  end
  if not newest or newest <= now - length then
    redis.call('DEL', list)
    return nil, nil
  end
  local oldest = tonumber(redis.call('LINDEX', list, 0))
  while oldest <= now - length do
    redis.call('LPOP', list)
    oldest = tonumber(redis.call('LINDEX', list, 0))
  end
  return newest, oldest
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

local function hit(windows)
  local counted = true
  for _, window in ipairs(windows) do
    window.oldest = select(2, drop(window.list, window.length))
    window.live = window.oldest and redis.call('LLEN', window.list) or 0
    window.calls = 0
    if window.most >= 0 then
      window.day, window.calls = calls_of(window.hash)
    end
    window.fits = window.live < window.size and (window.most < 0 or window.calls < window.most)
    counted = counted and window.fits
  end
  local told = {midnight}
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
    told[#told + 1] = window.fits and 1 or 0
    told[#told + 1] = window.size - window.live
    told[#told + 1] = window.oldest and window.oldest + window.length - now or 0
    told[#told + 1] = window.calls
  end
  return told
end

local function take_back(windows)
  for _, window in ipairs(windows) do
    if drop(window.list, window.length) then
      redis.call('RPOP', window.list)
      if window.most >= 0 then
        local day, calls = calls_of(window.hash)
        keep(window.hash, day, math.max(0, calls - 1))
      end
    end
  end
  return {}
end

local function resume(windows, number)
  for _, window in ipairs(windows) do
    local day, calls = calls_of(window.hash)
    keep(window.hash, day, math.max(calls, number))
  end
  return {}
end

-- 1 if whoever asks must take over the calls of the day: the data is new, or (number 1) it was away.
local function look(windows, number)
  local mark = windows[1].list
  local said = redis.call('GET', mark)
  if said == 'resumed' and number == 0 then
    redis.call('SET', mark, 'resumed', 'EX', RESUMED)
    return {0}
  end
  if said == 'resuming' then
    -- A write, so that a Redis that cannot be written is not taken for one that can.
    redis.call('SET', mark, 'resuming', 'KEEPTTL')
    return {0}
  end
  redis.call('SET', mark, 'resuming', 'EX', RESUMING)
  return {1}
end

local function resumed(windows)
  redis.call('SET', windows[1].list, 'resumed', 'EX', RESUMED)
  return {}
end

local WORK = {hit = hit, take_back = take_back, resume = resume, look = look, resumed = resumed}

local answers, key, place = {}, 1, 1
while place <= #ARGV do
  local what, number, windows = ARGV[place], tonumber(ARGV[place + 1]), {}
  local many = tonumber(ARGV[place + 2])
  place = place + 3
  for n = 1, many do
    windows[n] = {
      list = KEYS[key],
      hash = KEYS[key + 1],
      size = tonumber(ARGV[place]),
      length = tonumber(ARGV[place + 1]),
      most = tonumber(ARGV[place + 2]),
    }
    key, place = key + 2, place + 3
  end
  answers[#answers + 1] = WORK[what](windows, number)
end
return answers
