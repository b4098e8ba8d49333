package timeline

import "slices"

// DefaultRecords is the default number of records of a Log. It is enough for an hour of a pod in a crash loop,
// or for the whole life of most pods.
const DefaultRecords = 256

// containersPerRecord bounds the containers in the statuses of a Log, per record of its maximum. A pod of a
// thousand containers has fewer records.
const containersPerRecord = 16

// Log stores the last records of one pod. Equal records are merged: results of one probe, and back-offs with
// the same end. A status of many containers counts as several records. NewLog makes one; the zero value is not
// usable.
type Log struct {
	maxRecords int
	records    []Record
	next       int // index of the oldest record, once the log is full
	dropped    int
	// containerCount is how many there are in all statuses.
	containers int
}

// NewLog returns a Log of at most maxRecords records; zero is DefaultRecords. Its memory grows with the
// records.
func NewLog(maxRecords int) *Log {
	if maxRecords <= 0 {
		maxRecords = DefaultRecords
	}
	return &Log{maxRecords: maxRecords}
}

// Add stores a record, and drops the oldest one if the log is full. Texts are cut to MaxText bytes. The Status
// must not change afterwards.
func (l *Log) Add(r Record) {
	r.Name, r.Text, r.Err, r.Container = shortPrintableLine(r.Name), shortPrintableLine(r.Text), shortPrintableLine(r.Err), shortPrintableLine(r.Container)
	if l.mergeIntoPrevious(&r) {
		return
	}
	l.containers += r.containerCount()
	if len(l.records) < l.maxRecords {
		l.records = append(l.records, r)
	} else {
		l.containers -= l.records[l.next].containerCount()
		l.records[l.next] = r
		l.next = (l.next + 1) % l.maxRecords
		l.dropped++
	}
	if most := l.maxRecords * containersPerRecord; r.Status != nil && l.containers > most {
		l.dropOldestRecords(most / 2)
	}
}

// dropOldestRecords removes the oldest records until the statuses in the log have at most maxContainers
// containers together, or only the newest status is left. It counts the removed records.
func (l *Log) dropOldestRecords(maxContainers int) {
	records := l.Records()
	many := 0
	for ; l.containers > maxContainers && l.containers > records[many].containerCount(); many++ {
		l.containers -= records[many].containerCount()
	}
	l.records, l.next = slices.Clone(records[many:]), 0
	l.dropped += many
}

// containerCount returns the number of containers in the status of a record, or 0 without a status.
func (r *Record) containerCount() int {
	if r.Status == nil {
		return 0
	}
	return len(r.Status.Containers)
}

// mergeIntoPrevious merges a probe or back-off record into the last record of the same probe or back-off. It
// returns false and merges nothing for other records, if there is no such last record, if their results differ,
// or if the container was started or the agent replaced between them.
func (l *Log) mergeIntoPrevious(r *Record) (merged bool) {
	if r.Kind != KindProbe && r.Kind != KindBackoff {
		return false
	}
	for i := range l.records {
		last := &l.records[(l.next+len(l.records)-1-i)%len(l.records)]
		if last.preventsMergeOf(r) {
			return false
		}
		if last.Kind != r.Kind || last.Container != r.Container || last.Name != r.Name {
			continue
		}
		if (last.Err == "") != (r.Err == "") || !last.Until.Equal(r.Until) {
			return false
		}
		if last.Since.IsZero() {
			last.Since, last.Count = last.startTime(), 1
		}
		last.At, last.Count, last.Text, last.Err = r.At, last.Count+1, r.Text, r.Err
		return true
	}
	return false
}

// preventsMergeOf reports whether this record prevents that a later record is merged with an earlier one: it is the
// start of the later record's container, a new agent, or the removal of the pod.
func (r *Record) preventsMergeOf(later *Record) bool {
	return r.Kind == KindNote || r.Kind == KindGone || r.Kind == KindAction && r.Container == later.Container && r.Name == startContainer
}

// startContainer is podsync.StartContainer. Probe results before a start belong to an earlier run.
const startContainer = "StartContainer"

// Records returns a copy of the records in order of arrival.
func (l *Log) Records() []Record {
	return slices.Concat(l.records[l.next:], l.records[:l.next])
}

// Dropped returns the number of dropped records.
func (l *Log) Dropped() int { return l.dropped }
