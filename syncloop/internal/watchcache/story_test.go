package watchcache_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/internal/watchcache"
)

// TestStories runs testdata. The commands:
//
//	new version=N size=N [labels=N]
//	                          a Cache with the pods of the input, whose changes have at most so
//	                          many bytes of labels
//	set, remove               each pod of the input, with what a watch without a selector sees
//	list [ns=NAMESPACE] [selector=LABELS] [version=N]
//	since version=N [selector=LABELS]
//
// A pod is a line "UID NAMESPACE/NAME [label=VALUE]"; label l has the value.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var c *watchcache.Cache[*v1.Pod]
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch pods := parse(t, d.Input); d.Cmd {
			case "new":
				c = watchcache.New(number(t, d, "version"), int(number(t, d, "size")), pods)
				if argument(d, "labels") != "" {
					c.LimitSize(int(number(t, d, "labels")), func(pod *v1.Pod) int { return len(pod.Labels["l"]) })
				}
				return fmt.Sprintln("version", c.Version())
			case "set", "remove":
				return change(c, d.Cmd == "set", pods)
			case "list":
				if argument(d, "version") != "" {
					return listAt(c, number(t, d, "version"), argument(d, "ns"), selector(t, d))
				}
				return listMatching(c, argument(d, "ns"), selector(t, d))
			case "since":
				return since(c, number(t, d, "version"), selector(t, d))
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func change(c *watchcache.Cache[*v1.Pod], set bool, pods []*v1.Pod) string {
	before := c.Version()
	for _, pod := range pods {
		if set {
			c.Set(pod)
		} else {
			c.Remove(pod)
		}
	}
	return since(c, before, everything)
}

func since(c *watchcache.Cache[*v1.Pod], version uint64, match func(*v1.Pod) bool) string {
	changes, ok := c.ChangesSince(version)
	if !ok {
		return "expired\n"
	}
	var out strings.Builder
	for _, change := range changes {
		if e, shown := change.EventFor(match); shown {
			fmt.Fprintf(&out, "%d %s %s\n", change.Version, e.Type, show(e.Object))
		}
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

// listMatching returns the objects of a namespace that match, sorted by namespace and name. An empty namespace
// means all namespaces.
func listMatching(c *watchcache.Cache[*v1.Pod], namespace string, match func(*v1.Pod) bool) string {
	var out strings.Builder
	fmt.Fprintln(&out, "version", c.Version())
	for _, pod := range c.List(namespace, match) {
		if c.Get(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}) != pod {
			out.WriteString("not the one that has the name: ")
		}
		fmt.Fprintln(&out, show(pod))
	}
	return out.String()
}

func listAt(c *watchcache.Cache[*v1.Pod], version uint64, namespace string, match func(*v1.Pod) bool) string {
	pods, ok := c.ListAt(version, namespace, match)
	if !ok {
		return fmt.Sprintln("expired, the oldest is", c.Oldest())
	}
	var out strings.Builder
	for _, pod := range pods {
		fmt.Fprintln(&out, show(pod))
	}
	return cmp.Or(out.String(), "nothing\n")
}

func show(pod *v1.Pod) string {
	text := fmt.Sprintf("%s %s/%s at %s", pod.UID, pod.Namespace, pod.Name, pod.ResourceVersion)
	if l, ok := pod.Labels["l"]; ok {
		text += " label=" + l
	}
	return text
}

func everything(*v1.Pod) bool { return true }

func selector(t *testing.T, d *datadriven.TestData) func(*v1.Pod) bool {
	s, err := labels.Parse(argument(d, "selector"))
	if err != nil {
		t.Fatal(err)
	}
	return func(pod *v1.Pod) bool { return s.Matches(labels.Set(pod.Labels)) }
}

func argument(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals[0]
		}
	}
	return ""
}

func number(t *testing.T, d *datadriven.TestData, key string) (n uint64) {
	if _, err := fmt.Sscan(argument(d, key), &n); err != nil {
		t.Fatalf("%s: %s: %v", d.Pos, key, err)
	}
	return n
}

func parse(t *testing.T, input string) (pods []*v1.Pod) {
	for line := range strings.Lines(input) {
		words := strings.Fields(line)
		namespace, name, ok := strings.Cut(words[1], "/")
		if !ok {
			t.Fatalf("not a pod: %q", line)
		}
		pod := &v1.Pod{}
		pod.UID, pod.Namespace, pod.Name = types.UID(words[0]), namespace, name
		for _, word := range words[2:] {
			pod.Labels = map[string]string{"l": strings.TrimPrefix(word, "label=")}
		}
		pods = append(pods, pod)
	}
	return pods
}
