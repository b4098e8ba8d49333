package timeline_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/syncloop/timeline"
)

// TestLog_Containers: a status of a pod with many containers counts as several records, and the newest records
// stay in their order.
func TestLog_Containers(t *testing.T) {
	const most, each = 10, 30
	log := timeline.NewLog(most)
	add := func(n, containers int) {
		status := &timeline.Status{Containers: make([]timeline.Container, containers)}
		log.Add(timeline.Record{At: time.Unix(int64(n), 0), Kind: timeline.KindStatus, Text: strconv.Itoa(n), Status: status})
		log.Add(timeline.Record{At: time.Unix(int64(n), 0), Kind: timeline.KindEvent, Text: strconv.Itoa(n) + "e"})
	}
	kept := func() (texts []string, containers int) {
		for _, r := range log.Records() {
			texts = append(texts, r.Text)
			if r.Status != nil {
				containers += len(r.Status.Containers)
			}
		}
		return texts, containers
	}
	for n := range 100 {
		add(n, each)
		_, containers := kept()
		assert.LessOrEqual(t, containers, 16*most)
	}
	texts, _ := kept()
	assert.Equal(t, []string{"97", "97e", "98", "98e", "99", "99e"}, texts[len(texts)-6:])
	assert.Equal(t, 200, log.Dropped()+len(texts))

	add(100, 1000)
	texts, _ = kept()
	assert.Equal(t, []string{"100", "100e"}, texts, "the last status is kept in any case")
	for n := range 20 {
		add(n, 1)
	}
	texts, containers := kept()
	assert.Equal(t, []string{"15", "15e", "16", "16e", "17", "17e", "18", "18e", "19", "19e"}, texts)
	assert.Equal(t, 5, containers)
	assert.Equal(t, 242, log.Dropped()+len(texts))
}
