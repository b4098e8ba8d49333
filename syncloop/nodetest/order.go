package nodetest

import (
	"cmp"
	"slices"
	"strings"
)

// orderParallelLines returns the transcript lines of one pod in an order that does not depend on chance. Calls
// that the node makes in parallel may return in any order, so it sorts them by kind and text and draws a
// bracket before them. Other lines keep their order, except for a preStop hook beside its stop or its event.
func orderParallelLines(did []line) []line {
	all := slices.Clone(did)
	putPreStopBeforeStop(all)
	putPreStopBeforeFailureEvent(all)
	assignForks(all)
	for first := 0; first < len(all); {
		end := first + 1
		for end < len(all) && all[first].isParallelWith(all[end]) {
			end++
		}
		sortParallelLines(all[first:end])
		first = end
	}
	return all
}

// putPreStopBeforeStop exchanges two adjacent lines of the same instant: the stop of a container and then the
// preStop hook of the same container. When a hook uses up the grace period, it runs until the container exits,
// and then either call may return first.
func putPreStopBeforeStop(lines []line) {
	for i := 1; i < len(lines); i++ {
		stop, hook := &lines[i-1], &lines[i]
		if stop.at == hook.at && stop.container == hook.container && strings.HasPrefix(stop.text, "StopContainer ") && strings.HasPrefix(hook.text, "Hook pre-stop ") {
			*stop, *hook = *hook, *stop
		}
	}
}

// putPreStopBeforeFailureEvent exchanges two adjacent lines of the same instant: the FailedPreStopHook event of
// a container and then its preStop hook. When a container exits during the hook, the event and the return of
// the hook come in either order.
func putPreStopBeforeFailureEvent(lines []line) {
	for i := 1; i < len(lines); i++ {
		event, hook := &lines[i-1], &lines[i]
		if event.at == hook.at && strings.HasPrefix(event.text, preStopEvent) && event.killedContainer() == hook.container && strings.HasPrefix(hook.text, "Hook pre-stop ") {
			*event, *hook = *hook, *event
		}
	}
}

// isParallelWith reports whether two lines have the same time and belong to calls that the node has started in
// parallel at one place.
func (l *line) isParallelWith(other line) bool {
	return l.at == other.at && l.fork != nil && l.fork == other.fork
}

// assignForks sets the field fork of every line, which is the same for calls that the node has started in
// parallel at one place. A Killing or FailedPreStopHook event gets the fork of the next call that stops its
// container. Without such a call, it gets the fork of a neighbouring line.
func assignForks(lines []line) {
	unknown := make([]bool, len(lines))
	for i := range lines {
		l := &lines[i]
		l.fork = l.branch.GroupKey()
		name := l.killedContainer()
		if name == "" {
			continue
		}
		if j := slices.IndexFunc(lines[i+1:], func(later line) bool { return later.isStopOrRemovalOf(name) }); j >= 0 && lines[i+1+j].killedContainer() == "" {
			l.fork = lines[i+1+j].branch.GroupKey()
			continue
		}
		unknown[i] = true
		if i == 0 || !joinForkOfNeighbour(lines, i, i-1) {
			l.fork = new(line)
		}
	}
	for i := len(lines) - 2; i >= 0; i-- {
		if unknown[i] {
			joinForkOfNeighbour(lines, i, i+1)
		}
	}
}

// joinForkOfNeighbour makes an event parallel to a neighbouring line of the same instant by giving it that
// line's fork. It changes nothing and returns false if the neighbour has no fork, or if another line of the
// fork and the instant is about the same container, because another termination has then begun.
func joinForkOfNeighbour(lines []line, i, neighbour int) (joined bool) {
	l, fork := &lines[i], lines[neighbour].fork
	if fork == nil || lines[neighbour].at != l.at {
		return false
	}
	name := l.killedContainer()
	for j := range lines {
		if j != i && lines[j].at == l.at && lines[j].fork == fork && (lines[j].container == name || lines[j].killedContainer() == name) {
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

// killedContainer returns the name of the container in a Killing or FailedPreStopHook event. It returns "" for
// other lines.
func (l *line) killedContainer() string {
	for _, prefix := range [...]string{killingEvent, preStopEvent} {
		if rest, ok := strings.CutPrefix(l.text, prefix); ok {
			name, _, _ := strings.Cut(rest, " ")
			return strings.TrimSuffix(name, ":")
		}
	}
	return ""
}

// isStopOrRemovalOf reports whether a line is the preStop hook, stop or removal of the container, or the
// Killing event of the container.
func (l *line) isStopOrRemovalOf(name string) bool {
	if strings.HasPrefix(l.text, killingEvent) {
		return l.killedContainer() == name
	}
	return l.container == name && (strings.HasPrefix(l.text, "StopContainer ") || strings.HasPrefix(l.text, "Hook pre-stop ") || strings.HasPrefix(l.text, "RemoveContainer "))
}

// sortParallelLines sorts lines that are parallel to each other, and draws a bracket before each group of equal
// rank. The order is: Killing events, hooks, failed-hook events, and then other calls; a call that waited for
// another call comes after it.
func sortParallelLines(parallel []line) {
	if len(parallel) < 2 {
		return
	}
	for i := range parallel {
		parallel[i].rank = rankOfParallelLine(parallel, i)
	}
	slices.SortStableFunc(parallel, func(a, b line) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.text, b.text)) })
	for first := 0; first < len(parallel); {
		end := first + 1
		for end < len(parallel) && parallel[end].rank == parallel[first].rank {
			end++
		}
		drawGroupBracket(parallel[first:end])
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

// rankOfParallelLine returns the sort rank of line i among parallel lines, by its kind. A stop or another call
// has a higher rank than every call that it waited for.
func rankOfParallelLine(parallel []line, i int) int {
	switch l := &parallel[i]; {
	case strings.HasPrefix(l.text, killingEvent):
		return rankOfKilling
	case strings.HasPrefix(l.text, "Hook "):
		return rankOfHooks
	case strings.HasPrefix(l.text, preStopEvent):
		return rankOfFailedHooks
	}
	most := ranksOfStops
	for j := range parallel[:i] { // The calls that it waited for have earlier lines.
		if parallel[i].branch.Follows(parallel[j].branch) {
			most = max(most, parallel[j].rank+1)
		}
	}
	return most
}

// drawGroupBracket sets the marks that draw a bracket before the lines of a group. It does nothing for a single
// line.
func drawGroupBracket(group []line) {
	if len(group) < 2 {
		return
	}
	for i := range group {
		group[i].mark = "│ "
	}
	group[0].mark, group[len(group)-1].mark = "┌ ", "└ "
}
