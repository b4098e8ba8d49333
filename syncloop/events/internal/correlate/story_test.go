package correlate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/events/internal/correlate"
)

var group = schema.GroupResource{Resource: "events"}

var errs = map[string]error{
	"ok":          nil,
	"refused":     errors.New("connection refused"),
	"401":         apierrors.NewUnauthorized(""),
	"403":         apierrors.NewForbidden(group, "e", errors.New("no right")),
	"404":         apierrors.NewNotFound(group, "e"),
	"409":         apierrors.NewAlreadyExists(group, "e"),
	"422":         apierrors.NewInvalid(schema.GroupKind{Kind: "Event"}, "e", nil),
	"429":         apierrors.NewTooManyRequests("", 7),
	"503":         apierrors.NewServiceUnavailable(""),
	"500":         apierrors.NewInternalError(errors.New("etcd")),
	"terminating": terminating(),
}

func terminating() error {
	err := apierrors.NewForbidden(group, "e", errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: v1.NamespaceTerminatingCause}}
	return err
}

var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// story is a Table and its clock.
type story struct {
	table *correlate.Table
	now   time.Time
	taken []*correlate.Write
}

// TestStories runs the texts in testdata. Each is the story of one Table.
//
//	at 3s                              so long after the beginning
//	record POD[/CONTAINER] REASON MESSAGE...    has happened; $i in the message is a number
//	times N record ...                 N times, at one instant
//	next                               all that is to be written now
//	done NAME ERROR                    how all writes of events of a pod have ended; all: of all pods
//	retry
//	state
func TestStories_EB1_EB2_EB3_EB4(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{table: correlate.New("kubelet", "n1"), now: begin}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				s.line(t, strings.Fields(line), &out)
			}
			return out.String()
		})
	})
}

func (s *story) line(t *testing.T, f []string, out *strings.Builder) {
	switch f[0] {
	case "at":
		after, err := time.ParseDuration(f[1])
		require.NoError(t, err)
		s.now = begin.Add(after)
	case "times":
		var n int
		_, err := fmt.Sscan(f[1], &n)
		require.NoError(t, err)
		for i := range n {
			s.record(f[3:], i, out)
		}
	case "record":
		s.record(f[1:], 0, out)
	case "next":
		for {
			w, at := s.table.NextWrite(s.now)
			if w == nil {
				if !at.IsZero() {
					fmt.Fprintf(out, "later: %s\n", at.Sub(begin))
				}
				break
			}
			s.taken = append(s.taken, w)
			fmt.Fprintln(out, show(w))
		}
	case "done":
		before := len(s.taken)
		s.taken = slices.DeleteFunc(s.taken, func(w *correlate.Write) bool {
			if f[1] != "all" && !strings.HasPrefix(w.Name, f[1]+".") {
				return false
			}
			dropped(out, s.table.FinishWrite(w, errs[f[2]], s.now))
			return true
		})
		require.Less(t, len(s.taken), before, "%s is not being written", f[1])
	case "retry":
		s.table.Retry()
	case "state":
		fmt.Fprintf(out, "pending %d, dropped %d, filtered %d, paused %t\n", s.table.PendingCount(), s.table.Dropped, s.table.Filtered, s.table.IsPaused(s.now))
	default:
		t.Fatalf("%s?", f)
	}
}

func (s *story) record(f []string, i int, out *strings.Builder) {
	number := fmt.Sprint(i)
	name, container, _ := strings.Cut(strings.ReplaceAll(f[0], "$i", number), "/")
	o := correlate.Occurrence{
		Object: v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "7"},
		Type:   "Normal", Reason: f[1], Message: strings.ReplaceAll(strings.Join(f[2:], " "), "$i", number), At: s.now,
	}
	if container != "" {
		o.Object.FieldPath = "spec.containers{" + container + "}"
	}
	dropped(out, s.table.Record(o))
}

func dropped(out *strings.Builder, e *v1.Event) {
	if e != nil {
		fmt.Fprintf(out, "dropped %s %s\n", e.InvolvedObject.Name, e.Reason)
	}
}

func show(w *correlate.Write) string {
	if e := w.Create; e != nil {
		return fmt.Sprintf("create %s: %s %s %q %d, %s to %s", w.Name, e.InvolvedObject.Name+" "+e.InvolvedObject.FieldPath, e.Reason, e.Message, e.Count,
			e.FirstTimestamp.Sub(begin), e.LastTimestamp.Sub(begin))
	}
	return fmt.Sprintf("patch %s: %s", w.Name, w.Patch)
}

// EB-1: an event has all fields of a kubelet event.
func TestWrite_EB1(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	ref := v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "a", Name: strings.Repeat("x", 253), UID: "u", ResourceVersion: "7", FieldPath: "spec.containers{c}"}
	table.Record(correlate.Occurrence{Object: ref, Type: "Warning", Reason: "BackOff", Message: "m", At: begin})
	w, _ := table.NextWrite(begin)
	require.NotNil(t, w)
	assert.Equal(t, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "a", Name: strings.Repeat("x", 236) + fmt.Sprintf(".%x", begin.UnixNano())},
		InvolvedObject: ref, Type: "Warning", Reason: "BackOff", Message: "m", Count: 1,
		Source: v1.EventSource{Component: "kubelet", Host: "n1"}, ReportingController: "kubelet", ReportingInstance: "n1",
		FirstTimestamp: metav1.NewTime(begin), LastTimestamp: metav1.NewTime(begin),
	}, w.Create)
	assert.Len(t, w.Name, 253)
	table.Record(correlate.Occurrence{Object: v1.ObjectReference{Kind: "Node", Name: "n1", UID: "n"}, Type: "Normal", Reason: "Starting", At: begin})
	w, _ = table.NextWrite(begin)
	assert.Equal(t, "default", w.Create.Namespace)
}

// EB-2: the remembered and the waiting events are bounded, whatever is recorded.
func TestTable_EB2_Bounded(t *testing.T) {
	table := correlate.New("kubelet", "n1")
	for i := range 9_000 {
		table.Record(correlate.Occurrence{Object: v1.ObjectReference{Kind: "Pod", Name: fmt.Sprint("p", i%6000)}, Type: "Normal", Reason: "R", Message: fmt.Sprint(i % 11), At: begin})
		require.LessOrEqual(t, table.PendingCount(), 1000)
	}
	assert.LessOrEqual(t, table.RememberedCount(), 3*4096)
}
