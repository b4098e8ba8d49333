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
	most    int
	records []Record
	next    int // where the oldest one stands, once all are in use
	dropped int
	// containers is how many there are in all statuses.
	containers int
}

// NewLog makes a Log of at most so many records; zero is DefaultRecords. It takes memory with
// the records that come.
func NewLog(most int) *Log {
	if most <= 0 {
		most = DefaultRecords
	}
	return &Log{most: most}
}

// Add keeps a record, in place of the oldest one if there is no place left. Its texts are cut to
// MaxText bytes. Its Status is kept as it is and must not change.
func (l *Log) Add(r Record) {
	r.Name, r.Text, r.Err, r.Container = clean(r.Name), clean(r.Text), clean(r.Err), clean(r.Container)
	if l.join(&r) {
		return
	}
	l.containers += r.containers()
	if len(l.records) < l.most {
		l.records = append(l.records, r)
	} else {
		l.containers -= l.records[l.next].containers()
		l.records[l.next] = r
		l.next = (l.next + 1) % l.most
		l.dropped++
	}
	if most := l.most * containersPerRecord; r.Status != nil && l.containers > most {
		l.shrink(most / 2)
	}
}

// shrink drops the oldest records until so many containers are left, or one status.
func (l *Log) shrink(containers int) {
	records := l.Records()
	many := 0
	for ; l.containers > containers && l.containers > records[many].containers(); many++ {
		l.containers -= records[many].containers()
	}
	l.records, l.next = slices.Clone(records[many:]), 0
	l.dropped += many
}

// containers is how many the status of a record has.
func (r *Record) containers() int {
	if r.Status == nil {
		return 0
	}
	return len(r.Status.Containers)
}

// join adds a record to the last one of its kind, if that says the same.
func (l *Log) join(r *Record) bool {
	if r.Kind != KindProbe && r.Kind != KindBackoff {
		return false
	}
	for i := range l.records {
		last := &l.records[(l.next+len(l.records)-1-i)%len(l.records)]
		if last.separates(r) {
			return false
		}
		if last.Kind != r.Kind || last.Container != r.Container || last.Name != r.Name {
			continue
		}
		if (last.Err == "") != (r.Err == "") || !last.Until.Equal(r.Until) {
			return false
		}
		if last.Since.IsZero() {
			last.Since, last.Count = last.began(), 1
		}
		last.At, last.Count, last.Text, last.Err = r.At, last.Count+1, r.Text, r.Err
		return true
	}
	return false
}

// separates reports whether what comes after the record is never joined with what came before it.
func (r *Record) separates(later *Record) bool {
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
