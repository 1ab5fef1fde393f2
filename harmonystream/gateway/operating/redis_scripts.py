"""Scripts that Valkey or Redis runs in one step, so that simultaneous gateways agree.

Names begin with `PREFIX`. `alive` has, for each gateway, the time until which it counts as running. `open:OWNER` has an
owner's open requests, and `tokens:OWNER` what is left of its tokens. `r:KEY` is a response, and `i:KEY` names the
response that has an item. `of:OWNER` has an owner's responses, and `all` has everyone's, by the time at which they
expire. `meta` has the owner, the size and the items of each response. `counts` and `sizes` have the sums for each
owner, and `totals` the sums for all.
"""

from __future__ import annotations

__all__ = ["BEAT", "DELETE", "ENTER", "PREFIX", "PUT", "READ", "SYNC", "TAKE"]

PREFIX = "harmonystream:"

_NOW = "local t = redis.call('TIME'); local now = t[1] + t[2] / 1e6\n"
_LEFT = """
local function left_of(key, rate, now)
    local found = redis.call('HMGET', key, 'left', 'at')
    if not found[1] then return rate end
    return math.min(rate, found[1] + math.max(0, now - found[2]) * rate / 60)
end
"""

BEAT = (
    _NOW
    + """
local known = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) > now
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1]) -- the first one that writes: a server without room refuses it
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[2]))
return {known and 1 or 0, redis.call('ZCARD', KEYS[1])}
"""
)
"""KEYS: alive. ARGV: this gateway, the seconds for which it counts as there. -> was it known, how many there are."""

ENTER = (
    _NOW
    + _LEFT
    + """
local most, rate = tonumber(ARGV[2]), tonumber(ARGV[3])
if rate > 0 then
    local left = left_of(KEYS[3], rate, now)
    if left <= 0 then return {'tokens', tostring(left)} end
end
if most > 0 then
    if redis.call('SCARD', KEYS[2]) >= most then
        for _, one in ipairs(redis.call('SMEMBERS', KEYS[2])) do
            local gateway = string.match(one, '^%x+')
            if not gateway or tonumber(redis.call('ZSCORE', KEYS[1], gateway) or 0) <= now then
                redis.call('SREM', KEYS[2], one)
            end
        end
        if redis.call('SCARD', KEYS[2]) >= most then return {'open', ''} end
    end
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('EXPIRE', KEYS[2], ARGV[4])
end
return {'in', ''}
"""
)
"""KEYS: alive, open, tokens. ARGV: the request, both limits, seconds that open requests are kept. -> "in", or what is
used up: "open", or "tokens" and how many are left. Requests of a gateway that is gone count no more."""

SYNC = """
local mine = {}
for at = 3, #ARGV do mine[ARGV[at]] = true end
for _, one in ipairs(redis.call('SMEMBERS', KEYS[1])) do
    if string.sub(one, 1, #ARGV[1]) == ARGV[1] and not mine[one] then redis.call('SREM', KEYS[1], one) end
end
for one in pairs(mine) do redis.call('SADD', KEYS[1], one) end
if #ARGV > 2 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
"""
"""KEYS: open. ARGV: this gateway, seconds that open requests are kept, and all of the owner that it has open."""

TAKE = (
    _NOW
    + _LEFT
    + """
local rate, turn = tonumber(ARGV[2]), 'turn:' .. ARGV[3]
if redis.call('HGET', KEYS[1], turn) == ARGV[4] then return end
local left = left_of(KEYS[1], rate, now) - ARGV[1]
if redis.call('HLEN', KEYS[1]) > 100 then redis.call('DEL', KEYS[1]) end -- most of these gateways are long gone
redis.call('HSET', KEYS[1], 'left', tostring(left), 'at', tostring(now), turn, ARGV[4])
redis.call('EXPIRE', KEYS[1], math.ceil((rate - left) * 60 / rate) + 60)
"""
)
"""KEYS: tokens. ARGV: how many, the limit, this gateway, the number of this report: one that is sent again because its
answer was lost counts once. The numbers of a hundred gateways are kept."""

READ = """
local size = redis.call('HSTRLEN', KEYS[1], 'input') + redis.call('HSTRLEN', KEYS[1], 'response')
if size > tonumber(ARGV[1]) then return {size} end
return redis.call('HMGET', KEYS[1], 'input', 'response')
"""
"""KEYS: a response. ARGV: the most bytes. -> its input and the response, or how large they are if that is more."""

_DROP = """
local function drop(key)
    local owner, size, items = string.match(redis.call('HGET', P .. 'meta', key) or '', '^(%x+) (%d+) (.*)$')
    redis.call('ZREM', P .. 'all', key)
    local there = redis.call('DEL', P .. 'r:' .. key)
    if not owner then return false end
    redis.call('HDEL', P .. 'meta', key)
    redis.call('ZREM', P .. 'of:' .. owner, key)
    for item in string.gmatch(items, '%x+') do redis.call('DEL', P .. 'i:' .. item) end
    redis.call('HINCRBY', P .. 'totals', 'count', -1)
    redis.call('HINCRBY', P .. 'totals', 'size', -size)
    redis.call('ZINCRBY', P .. 'sizes', -size, owner)
    if tonumber(redis.call('ZINCRBY', P .. 'counts', -1, owner)) < 1 then
        redis.call('ZREM', P .. 'counts', owner)
        redis.call('ZREM', P .. 'sizes', owner)
    end
    return there == 1
end
"""

DELETE = "local P = KEYS[1]\n" + _DROP + "return drop(ARGV[1]) and 1 or 0\n"
"""KEYS: the prefix. ARGV: the response's key. -> was it there?"""

PUT = (
    "local P = KEYS[1]\n"
    + _NOW
    + _DROP
    + """
local key, owner, size, seconds = ARGV[1], ARGV[2], #ARGV[3] + #ARGV[4], tonumber(ARGV[5])
local most, most_size, each = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local turn = redis.call('INCR', P .. 'turn') -- the first one that writes, as in BEAT
drop(key)
local function oldest_of(one)
    local oldest = redis.call('ZRANGE', P .. 'of:' .. one, 0, 0)[1]
    if oldest then
        drop(oldest)
        redis.call('ZREM', P .. 'of:' .. one, oldest)
    else
        redis.call('ZREM', P .. 'counts', one)
        redis.call('ZREM', P .. 'sizes', one)
    end
end
local function score(name, one)
    return tonumber(redis.call('ZSCORE', P .. name, one) or 0)
end
local function top(name)
    local found = redis.call('ZREVRANGE', P .. name, 0, 0, 'WITHSCORES')
    return found[1], tonumber(found[2] or 0)
end
redis.call('HSET', P .. 'r:' .. key, 'input', ARGV[3], 'response', ARGV[4])
redis.call('PEXPIRE', P .. 'r:' .. key, math.ceil(seconds * 1000))
local items = {}
for at = 9, #ARGV do
    items[#items + 1] = ARGV[at]
    redis.call('SET', P .. 'i:' .. ARGV[at], key, 'PX', math.ceil(seconds * 1000))
end
redis.call('HSET', P .. 'meta', key, owner .. ' ' .. size .. ' ' .. table.concat(items, ','))
redis.call('ZADD', P .. 'all', now + seconds, key)
redis.call('ZADD', P .. 'of:' .. owner, turn, key)
redis.call('ZINCRBY', P .. 'counts', 1, owner)
redis.call('ZINCRBY', P .. 'sizes', size, owner)
redis.call('HINCRBY', P .. 'totals', 'count', 1)
redis.call('HINCRBY', P .. 'totals', 'size', size)
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', P .. 'all', '-inf', now, 'LIMIT', 0, 100)) do drop(ended) end
while each > 0 and score('counts', owner) > each do oldest_of(owner) end
while true do
    local sums = redis.call('HMGET', P .. 'totals', 'count', 'size')
    if tonumber(sums[1] or 0) <= most and tonumber(sums[2] or 0) <= most_size then break end
    local one, count = top('counts')
    local other, bytes = top('sizes')
    if not one and not other then
        redis.call('DEL', P .. 'totals')
        break
    end
    local share, own = count / most, 0
    if bytes / most_size > share then one, share = other, bytes / most_size end
    own = math.max(score('counts', owner) / most, score('sizes', owner) / most_size)
    oldest_of(own >= share and own > 0 and owner or one or other)
end
return redis.call('EXISTS', P .. 'r:' .. key)
"""
)
"""KEYS: the prefix. ARGV: the response's key, its owner, its input, the response, seconds that it is kept, how many
there may be, how many bytes, how many of one owner, and the keys of its items. What is too much goes, the oldest first,
of the owner who has most, or of this one if it has as much. -> is it kept?"""
