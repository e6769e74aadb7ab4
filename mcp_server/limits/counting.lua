-- Counts a call in moving windows and by UTC day, by the clock of Redis alone.
--
-- ARGV[1] says what to do:
-- hit, take_back: of each window KEYS has a list of cells, oldest first, and a hash of its day; ARGV
--       its size, its length in microseconds, the most calls of a UTC day (-1: days are not bounded)
--       and the microseconds whose hits share a cell (0: each has its own). A cell is three numbers:
--       the microseconds of its last hit, and how many hits were before its first and are up to its
--       last. `hit` returns the seconds to midnight, then of each window
--       whether it fits (1 or 0), what is left, the microseconds to its reset, and today's calls.
-- resume: KEYS are hashes of days, ARGV the calls of each that were counted elsewhere.

local DAY, MARGIN = 86400, 3600

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local today = math.floor(time[1] / DAY)
local midnight = DAY - time[1] % DAY

local function cell(list, index)
  local last, before, upto = string.match(redis.call('LINDEX', list, index) or '', '(%d+) (%d+) (%d+)')
  return tonumber(last), tonumber(before), tonumber(upto)
end

local function cell_of(last, before, upto)
  return string.format('%.0f %.0f %.0f', last, before, upto)
end

-- A clock that was set back: what seems to lie ahead has happened by now.
local function settle(list, length)
  local last, before, upto = cell(list, -1)
  local all = upto
  while last and last > now do
    redis.call('RPOP', list)
    upto = before
    last, before = cell(list, -1)
  end
  redis.call('RPUSH', list, cell_of(now, upto, all))
  redis.call('PEXPIRE', list, length / 1000 + 1000)
end

-- Drops the cells that have left the window; returns the time of the oldest that is still in it, if
-- any is, and the number of hits.
local function drop(list, length)
  local newest, _, upto = cell(list, -1)
  if not newest or newest <= now - length then
    redis.call('DEL', list)
    return nil, 0
  elseif newest > now then
    settle(list, length)
  end
  local oldest, before = cell(list, 0)
  while oldest <= now - length do
    redis.call('LPOP', list)
    oldest, before = cell(list, 0)
  end
  return oldest, upto - before
end

-- Adds a hit, to the newest cell if it shares that.
local function add(window)
  local last, before, upto = cell(window.list, -1)
  local shared = window.together
  if last and shared > 0 and math.floor(last / shared) == math.floor(now / shared) then
    redis.call('LSET', window.list, -1, cell_of(now, before, upto + 1))
    if redis.call('LLEN', window.list) == 1 then
      window.oldest = now
    end
  else
    redis.call('RPUSH', window.list, cell_of(now, upto or 0, (upto or 0) + 1))
    window.oldest = window.oldest or now
  end
  redis.call('PEXPIRE', window.list, window.length / 1000 + 1000)
  window.live = window.live + 1
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
  window.size, window.length = tonumber(ARGV[4 * n - 2]), tonumber(ARGV[4 * n - 1])
  window.most, window.together = tonumber(ARGV[4 * n]), tonumber(ARGV[4 * n + 1])
  window.oldest, window.live = drop(window.list, window.length)
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
      add(window)
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
      local last, before, upto = cell(window.list, -1)
      if upto - 1 > before then
        redis.call('LSET', window.list, -1, cell_of(last, before, upto - 1))
      else
        redis.call('RPOP', window.list)
      end
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
