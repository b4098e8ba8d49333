package merge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podmanager/source/internal/merge"
)

// claims are Claims of the sources api, file and http, with the runtime records of the test.
type claims struct {
	merge.Claims
	owner merge.Owners
	now   time.Time
	want  map[string][]*v1.Pod // of each source
	trackers
}

type trackers map[string]*merge.Tracker

// replaceSource makes these pods, all of UID u, the pods of a source. It returns the late additions and the
// new refusals.
func (c *claims) replaceSource(complete bool, source string, names ...string) string {
	if c.trackers == nil {
		c.trackers = trackers{"api": {}, "file": {}, "http": {}}
	}
	if source != "" {
		var pods []*v1.Pod
		for _, name := range names {
			pods = append(pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", Labels: map[string]string{"at": c.now.String()}}})
		}
		c.trackers[source].Replace(pods, false, time.Time{})
	}
	var changes []merge.SourceChanges
	for _, n := range []string{"api", "file", "http"} {
		changes = append(changes, merge.SourceChanges{Source: n, Changes: c.trackers[n].Consume().Changes(n)})
	}
	late, fresh := c.Filter(changes, c.owner, complete, c.now)
	var out []string
	for _, l := range late {
		for _, pod := range l.Add {
			out = append(out, fmt.Sprint("late ", l.Source, " ", pod.Name))
		}
		if len(l.Add) == 0 {
			out = append(out, "late "+l.Source+" nothing")
		}
	}
	for _, r := range fresh {
		out = append(out, fmt.Sprint("refused ", r.Source, " ", r.Pod.Name))
	}
	return strings.Join(out, ", ")
}

// A refused pod is reported once, and again when its reason changes. It keeps the time since which
// it is refused.
func TestClaims_F97_RefusedPodIsReportedOnce(t *testing.T) {
	var c claims
	assert.Empty(t, c.replaceSource(true, "api", "db"))
	assert.Equal(t, "refused file db2", c.replaceSource(true, "file", "db2"))
	since := c.now
	c.now = c.now.Add(time.Hour)
	assert.Empty(t, c.replaceSource(true, "file", "db2"), "another version of it, for the same reason")
	assert.Empty(t, c.replaceSource(true, "", ""), "nothing new")
	assert.Equal(t, "refused http db3", c.replaceSource(true, "http", "db3"), "the other one has been told")
	refused := c.Refused()
	assert.Len(t, refused, 2)
	assert.Equal(t, since, refused[0].Since)
	assert.Equal(t, since.Add(time.Hour), refused[1].Since)

	assert.Equal(t, "late file db2, refused http db3", c.replaceSource(true, "api"), "the UID is that of the first, and another reason for the second")
	assert.Equal(t, "late http db3", c.replaceSource(true, "file"))
	assert.Empty(t, c.Refused())
}

// A free UID goes to the refused pod that the runtime has records of, before the pods of earlier
// sources.
func TestClaims_F97_TheRecordsOfTheRuntimeDecide(t *testing.T) {
	c := claims{owner: merge.Owners{"u": {Namespace: "ns", Name: "db3"}}}
	assert.Equal(t, "refused file db2", c.replaceSource(false, "file", "db2"), "the records are of another pod, whose source may be late")
	assert.Equal(t, "refused file db2", c.replaceSource(false, "http", "db3"), "it has come, and is delivered at once: another reason for the first")
	assert.Equal(t, "late file db2", c.replaceSource(false, "http"))

	c = claims{owner: merge.Owners{"u": {Namespace: "ns", Name: "db3"}}}
	assert.Empty(t, c.replaceSource(true, "api", "db"))
	assert.Equal(t, "refused file db2", c.replaceSource(true, "file", "db2"))
	assert.Equal(t, "refused http db3", c.replaceSource(true, "http", "db3"))
	assert.Equal(t, "late http db3, refused file db2", c.replaceSource(true, "api"))

	c = claims{owner: merge.Owners{"u": {Namespace: "ns", Name: "db"}}}
	assert.Equal(t, "refused file db2", c.replaceSource(false, "file", "db2"))
	assert.Empty(t, c.replaceSource(false, "", ""), "its source is still late")
	assert.Equal(t, "late file db2", c.replaceSource(true, "", ""), "no source has it")
}

// Of refused pods without records the one with the earlier source gets a free UID, independently of
// the order of the refusals. A pod with records goes before it.
func TestClaims_F97_TheOrderOfSourcesDecides(t *testing.T) {
	for owner, want := range map[string]string{"": "late file db2, refused http db3", "db3": "late http db3, refused file db2"} {
		var c claims
		assert.Empty(t, c.replaceSource(true, "api", "db"))
		assert.Equal(t, "refused http db3", c.replaceSource(true, "http", "db3"))
		assert.Equal(t, "refused file db2", c.replaceSource(true, "file", "db2"))
		if owner != "" {
			c.owner = merge.Owners{"u": {Namespace: "ns", Name: owner}}
		}
		assert.Equal(t, want, c.replaceSource(true, "api"))
	}
}

// Only an API server has mirror pods.
func TestChanges_TheMirrorAnnotationIsThatOfAnAPIServer(t *testing.T) {
	for source, want := range map[string]bool{"api": true, "file": false} {
		var tracker merge.Tracker
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u", Annotations: map[string]string{merge.MirrorAnnotation: "x", "mine": "y"}}}
		tracker.Replace([]*v1.Pod{pod}, false, time.Time{})
		changes := tracker.Consume().Changes(source)
		_, has := changes.Add[0].Annotations[merge.MirrorAnnotation]
		assert.Equal(t, want, has, source)
		assert.Equal(t, "y", changes.Add[0].Annotations["mine"])
		assert.Equal(t, source, changes.Add[0].Annotations[merge.SourceAnnotation])
	}
}
