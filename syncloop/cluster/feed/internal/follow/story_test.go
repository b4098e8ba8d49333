package follow_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/feed/internal/follow"
)

var errs = map[string]error{
	"ok":      nil,
	"EOF":     io.EOF,
	"refused": errors.New("connection refused"),
	"410":     apierrors.NewResourceExpired("too old"),
	"403":     apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil),
	"401":     apierrors.NewUnauthorized(""),
	"422":     apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil),
	"429":     apierrors.NewTooManyRequests("", 20),
	"500":     apierrors.NewInternalError(errors.New("etcd")),
	"503":     apierrors.NewServiceUnavailable(""),
	"504":     tooLarge(),
}

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// pod is "name@version" or "name/uid@version".
func pod(text string) *v1.Pod {
	name, version, _ := strings.Cut(text, "@")
	name, uid, found := strings.Cut(name, "/")
	if !found {
		uid = name
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func pods(texts []string) []*v1.Pod {
	var all []*v1.Pod
	for _, text := range texts {
		all = append(all, pod(text))
	}
	return all
}

// TestStories runs the texts in testdata. Each is the story of one Machine.
//
//	watching ok            the watch has begun, or an error
//	listed 7 a@1 b/uid@2   a list at version 7, or an error
//	added|modified|deleted a@3
//	bookmark 9 [end]
//	ended EOF
//	waited [answered]
//	at 3s                  so long after the beginning
//	take                   shows the changes since it was there last
//
// After each line stands what the owner does next, with the middle of all chance.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		m, now := follow.New[*v1.Pod](5*time.Minute), time.Time{}.Add(time.Hour)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				changed := false
				switch f[0] {
				case "watching":
					m.Watching(errs[f[1]], now)
				case "listed":
					if err := errs[f[1]]; err != nil {
						m.Listed(apiserver.List[*v1.Pod]{}, err, now)
						break
					}
					changed = m.Listed(apiserver.List[*v1.Pod]{ResourceVersion: f[1], Items: pods(f[2:])}, nil, now)
				case "added", "modified", "deleted":
					o := pod(f[1])
					changed = m.Event(apiserver.Event[*v1.Pod]{Type: apiserver.EventType(strings.ToUpper(f[0])), Object: o, ResourceVersion: o.ResourceVersion}, now)
				case "bookmark":
					changed = m.Event(apiserver.Event[*v1.Pod]{Type: apiserver.Bookmark, ResourceVersion: f[1], InitialEventsEnd: len(f) > 2}, now)
				case "ended":
					m.Ended(errs[f[1]], now)
				case "waited":
					m.Waited(len(f) > 1)
				case "at":
					after, err := time.ParseDuration(f[1])
					require.NoError(t, err)
					now = time.Time{}.Add(time.Hour + after)
					continue
				case "take":
					fmt.Fprintln(&out, taken(m))
					continue
				case "begin":
				default:
					t.Fatalf("%s?", line)
				}
				fmt.Fprintf(&out, "%s%s\n", show(m.Next(0.5)), objects(m, changed))
			}
			return out.String()
		})
	})
}

// taken shows the changes that Take returns, the last ten of them.
func taken(m *follow.Machine[*v1.Pod]) string {
	changes, known := m.Take()
	if !known {
		return "the whole has changed"
	}
	words := []string{fmt.Sprint(len(changes), " changes:")}
	for _, c := range changes[max(0, len(changes)-10):] {
		word := fmt.Sprintf("%s/%s@%s", c.Object.Name, c.Object.UID, c.Object.ResourceVersion)
		if c.Gone {
			word += " gone"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func show(s follow.Step) string {
	switch s.Do {
	case follow.List:
		return fmt.Sprintf("list %q", s.Version)
	case follow.Watch:
		if s.Options.SendInitialEvents {
			return fmt.Sprintf("watch the state, %s", s.Options.Timeout)
		}
		return fmt.Sprintf("watch from %q, %s", s.Options.ResourceVersion, s.Options.Timeout)
	case follow.Wait:
		if s.UntilAnswer {
			return fmt.Sprintf("wait %s or for an answer", s.Pause)
		}
		return fmt.Sprintf("wait %s", s.Pause)
	}
	return "read"
}

func objects(m *follow.Machine[*v1.Pod], changed bool) string {
	if !changed {
		return ""
	}
	all, synced := m.Objects()
	text := fmt.Sprint(", changed:")
	for _, o := range all {
		text += fmt.Sprintf(" %s@%s", o.Name, o.ResourceVersion)
	}
	if !synced {
		text += " (not complete)"
	}
	return text
}
