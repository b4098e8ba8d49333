package nodetest

import (
	"cmp"
	"slices"
	"strings"
)

// groupParallel returns the lines of one pod, with the calls of parallel branches as groups. The order
// of parallel calls differs from run to run, so groupParallel sorts them by their texts. Sequential
// lines keep their order.
func groupParallel(did []line) []line {
	all := slices.Clone(did)
	putHooksBeforeStops(all)
	putHooksBeforeEvents(all)
	assignEvents(all)
	for first := 0; first < len(all); {
		end := first + 1
		for end < len(all) && all[first].isParallelWith(all[end]) {
			end++
		}
		sortBranches(all[first:end])
		first = end
	}
	return all
}

// putHooksBeforeStops puts the preStop hook of a container before the stop of the container that
// returns in the same instant: a hook that has used up the grace period runs until the container
// ends, and then either call may return first.
func putHooksBeforeStops(all []line) {
	for i := 1; i < len(all); i++ {
		stop, hook := &all[i-1], &all[i]
		if stop.at == hook.at && stop.container == hook.container && strings.HasPrefix(stop.text, "StopContainer ") && strings.HasPrefix(hook.text, "Hook pre-stop ") {
			*stop, *hook = *hook, *stop
		}
	}
}

// putHooksBeforeEvents puts the preStop hook of a container before the event of its failure that stands
// in the same instant: when the container exits while the hook runs, the sync records the event, and the
// call of the hook returns, in either order.
func putHooksBeforeEvents(all []line) {
	for i := 1; i < len(all); i++ {
		event, hook := &all[i-1], &all[i]
		if event.at == hook.at && strings.HasPrefix(event.text, preStopEvent) && event.killedContainer() == hook.container && strings.HasPrefix(hook.text, "Hook pre-stop ") {
			*event, *hook = *hook, *event
		}
	}
}

// isParallelWith reports whether two lines of one instant are in branches of the same fork.
func (l *line) isParallelWith(other line) bool {
	return l.at == other.at && l.fork != nil && l.fork == other.fork
}

// assignEvents assigns each event of a kill to the fork of the call that it announces or explains,
// because events carry no context. If that call has not returned, the event belongs to the kill of the
// neighbouring lines.
func assignEvents(all []line) {
	unknown := make([]bool, len(all))
	for i := range all {
		l := &all[i]
		l.fork = l.branch.GroupKey()
		name := l.killedContainer()
		if name == "" {
			continue
		}
		if j := slices.IndexFunc(all[i+1:], func(later line) bool { return later.isKillOf(name) }); j >= 0 && all[i+1+j].killedContainer() == "" {
			l.fork = all[i+1+j].branch.GroupKey()
			continue
		}
		unknown[i] = true
		if i == 0 || !joinFork(all, i, i-1) {
			l.fork = new(line)
		}
	}
	for i := len(all) - 2; i >= 0; i-- {
		if unknown[i] {
			joinFork(all, i, i+1)
		}
	}
}

// joinFork assigns an event to the fork of the neighbouring line, and reports whether it did. It does
// not if the fork has a line of this instant about the container already: then another kill has begun.
func joinFork(all []line, i, beside int) bool {
	l, fork := &all[i], all[beside].fork
	if fork == nil || all[beside].at != l.at {
		return false
	}
	name := l.killedContainer()
	for j := range all {
		if j != i && all[j].at == l.at && all[j].fork == fork && (all[j].container == name || all[j].killedContainer() == name) {
			return false
		}
	}
	l.fork = fork
	return true
}

// Prefixes of the events of a kill, before the name of the container.
const (
	killingEvent = "event Killing: Stopping container "
	preStopEvent = "event FailedPreStopHook: The PreStop hook of container "
)

// killedContainer returns the name of the container that a kill's event is about.
func (l *line) killedContainer() string {
	for _, prefix := range [...]string{killingEvent, preStopEvent} {
		if rest, ok := strings.CutPrefix(l.text, prefix); ok {
			name, _, _ := strings.Cut(rest, " ")
			return strings.TrimSuffix(name, ":")
		}
	}
	return ""
}

// isKillOf reports whether a line is a kill's call for a container, or the next kill's event.
func (l *line) isKillOf(name string) bool {
	if strings.HasPrefix(l.text, killingEvent) {
		return l.killedContainer() == name
	}
	return l.container == name && (strings.HasPrefix(l.text, "StopContainer ") || strings.HasPrefix(l.text, "Hook pre-stop ") || strings.HasPrefix(l.text, "RemoveContainer "))
}

// sortBranches sorts the lines of one fork in one instant and marks the groups among them: first the
// events, then the hooks, then the stops of containers that waited for no other stop, and so on.
func sortBranches(run []line) {
	if len(run) < 2 {
		return
	}
	for i := range run {
		run[i].rank = rankOf(run, i)
	}
	slices.SortStableFunc(run, func(a, b line) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.text, b.text)) })
	for first := 0; first < len(run); {
		end := first + 1
		for end < len(run) && run[end].rank == run[first].rank {
			end++
		}
		markGroup(run[first:end])
		first = end
	}
}

// Ranks of the lines of one fork. The ranks of stops begin with ranksOfStops.
const (
	rankOfKilling = iota
	rankOfHooks
	rankOfFailedHooks
	ranksOfStops
)

// rankOf returns the rank of a line of a fork by its kind. A stop comes behind all stops that had
// returned when its branch made the call.
func rankOf(run []line, i int) int {
	switch l := &run[i]; {
	case strings.HasPrefix(l.text, killingEvent):
		return rankOfKilling
	case strings.HasPrefix(l.text, "Hook "):
		return rankOfHooks
	case strings.HasPrefix(l.text, preStopEvent):
		return rankOfFailedHooks
	}
	most := ranksOfStops
	for j := range run[:i] { // The calls that it waited for have earlier lines.
		if run[i].branch.Follows(run[j].branch) {
			most = max(most, run[j].rank+1)
		}
	}
	return most
}

// markGroup draws a bracket before the lines of a group.
func markGroup(group []line) {
	if len(group) < 2 {
		return
	}
	for i := range group {
		group[i].mark = "│ "
	}
	group[0].mark, group[len(group)-1].mark = "┌ ", "└ "
}
