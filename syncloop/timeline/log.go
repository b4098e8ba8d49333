package timeline

import "slices"

// DefaultRecords is how many records a Log keeps unless it is told otherwise. It is an hour of
// a pod in a crash loop, or all that ever happens to most pods.
const DefaultRecords = 256

// containersPerRecord bounds the containers in the statuses of a Log, for each record that it
// may keep. Pods of a thousand containers have fewer records.
const containersPerRecord = 16

// Log keeps the last records of one pod. Records that say the same again are joined: results
// of a probe, a container that is held until the same time. Statuses of many containers count as
// several records. The zero value is not usable: see NewLog.
type Log struct {
	maxRecords int
	records    []Record
	next       int // where the oldest one stands, once all are in use
	dropped    int
	// containerCount is how many there are in all statuses.
	containers int
}

// NewLog makes a Log of at most so many records; zero is DefaultRecords. It takes memory with
// the records that come.
func NewLog(maxRecords int) *Log {
	if maxRecords <= 0 {
		maxRecords = DefaultRecords
	}
	return &Log{maxRecords: maxRecords}
}

// Add keeps a record, in place of the oldest one if there is no place left. Its texts are cut to
// MaxText bytes. Its Status is kept as it is and must not change.
func (l *Log) Add(r Record) {
	r.Name, r.Text, r.Err, r.Container = printableLine(r.Name), printableLine(r.Text), printableLine(r.Err), printableLine(r.Container)
	if l.joinToPrevious(&r) {
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
		l.dropOldest(most / 2)
	}
}

// dropOldest drops the oldest records until so many containers are left, or one status.
func (l *Log) dropOldest(containers int) {
	records := l.Records()
	many := 0
	for ; l.containers > containers && l.containers > records[many].containerCount(); many++ {
		l.containers -= records[many].containerCount()
	}
	l.records, l.next = slices.Clone(records[many:]), 0
	l.dropped += many
}

// containerCount is how many the status of a record has.
func (r *Record) containerCount() int {
	if r.Status == nil {
		return 0
	}
	return len(r.Status.Containers)
}

// joinToPrevious adds a record to the last one of its kind, if that says the same.
func (l *Log) joinToPrevious(r *Record) bool {
	if r.Kind != KindProbe && r.Kind != KindBackoff {
		return false
	}
	for i := range l.records {
		last := &l.records[(l.next+len(l.records)-1-i)%len(l.records)]
		if last.endsSeries(r) {
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

// endsSeries reports whether what comes after the record is never joined with what came before it.
func (r *Record) endsSeries(later *Record) bool {
	return r.Kind == KindNote || r.Kind == KindGone || r.Kind == KindAction && r.Container == later.Container && r.Name == startContainer
}

// startContainer is podsync.StartContainer: probes before it were of another run.
const startContainer = "StartContainer"

// Records returns a copy of what is kept, in the order in which it came.
func (l *Log) Records() []Record {
	return slices.Concat(l.records[l.next:], l.records[:l.next])
}

// Dropped is how many records had to make place for others.
func (l *Log) Dropped() int { return l.dropped }
