package nodetest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// TestStories plays every story of testdata twice, in the simulation and under
// goroutines, and compares the one transcript with the expected one. A story is
// a block of commands, a line each:
//
//	set NAME [uid=U] [restart=P] [grace=N] [port=N] [script=S] [init=CMD]... CMD [| CMD]...
//	                           spaces within an option are written _
//	                           also deadline=DURATION and cpu=QUANTITY
//	drop UID                   want it no more
//	delete NAME ...            as set, with a deletion timestamp
//	evict UID [reason=R] [grace=N]
//	                           end it, as one that the node can not afford
//	run DURATION               let time pass
//	exit POD CONTAINER CODE    a container ends by itself
//	reason POD CONTAINER WORD  the runtime hears why a container has ended
//	lose POD CONTAINER         a container's record vanishes
//	kill-sandbox POD           a sandbox dies under its containers
//	runtime up|down            the runtime is ready, or not
//	network up|down            the pod network is ready, or not
//	pulls IMAGE ok|fail        whether an image can be pulled
//	configmap NAME [KEY=VALUE]...
//	secret NAME [KEY=VALUE]... an object is there, with these keys
//	no configmap|secret NAME   it is there no more
//	words POD CONTAINER TEXT   the container writes into its termination log
//	no words POD CONTAINER     that cannot be read
//	file UID VOLUME PATH TEXT  a container of the pod writes a file into an emptyDir volume
//	no file UID VOLUME PATH    that cannot be read
//
// "play cpu=1" creates a node with one cpu, "play api-server" a node whose pods come from an API server. "play details"
// also prints the requests of containers and the statuses. The UID of a pod is its name unless the story gives another
// one, its containers are c0, c1 ..., and each has an image of its own. A block before the story can define a pod by a
// manifest: "define [as=NAME]", then YAML. "set NAME" then applies it.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		defined := map[string]*v1.Pod{}
		fakeVolumes := newFakeVolumes()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "define" {
				p := decodePod(t, d.Input)
				name := p.Name
				d.MaybeScanArgs(t, "as", &name)
				defined[name] = p
				return ""
			}
			if d.Cmd == "bad" {
				return applyBadPod(t, d)
			}
			config := nodetest.Config{Seed: 1, Details: d.HasArg("details")}
			config.Node.Volumes.Objects, config.Node.Volumes.Manager, config.Node.Volumes.Files = fakeVolumes.objects, fakeVolumes, fakeVolumes
			d.MaybeScanArgs(t, "max-syncs", &config.Node.Sync.MaxSyncs)
			d.MaybeScanArgs(t, "max-pods", &config.Node.Scheduling.MaxPods)
			config.Node.Scheduling.Capacity, config.Node.Pods.FromAPIServer = scanCapacity(t, d), d.HasArg("api-server")
			return nodetest.Play(t, config, func(w nodetest.Harness) {
				fakeVolumes.removeObjects()
				// The node is there before the story: else chance would decide whether the
				// stream of events stands before the first pod, and so how often is listed.
				w.Run(0)
				for line := range strings.Lines(d.Input) {
					words := strings.Fields(line)
					if !fakeVolumes.runCommand(t, w, words) {
						runCommand(t, w, defined, words)
					}
					w.Run(0) // One thing after the other: what happens at once is chance.
				}
			})
		})
	})
}

// scanCapacity returns the capacity of the node from the argument cpu=. Without it nothing is limited.
func scanCapacity(t *testing.T, d *datadriven.TestData) v1.ResourceList {
	var cpu string
	if d.MaybeScanArgs(t, "cpu", &cpu); cpu == "" {
		return nil
	}
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
}

func runCommand(t *testing.T, w nodetest.Harness, defined map[string]*v1.Pod, words []string) {
	t.Helper()
	switch verb, args := words[0], words[1:]; verb {
	case "set":
		if p := defined[args[0]]; p != nil && len(args) == 1 {
			w.Apply(p.DeepCopy())
			return
		}
		w.Apply(parsePod(t, args))
	case "evict":
		evictPod(t, w, types.UID(args[0]), args[1:])
	case "delete":
		p := parsePod(t, args)
		p.DeletionTimestamp = &metav1.Time{Time: nodetest.Epoch}
		w.Apply(p)
	case "drop":
		w.Delete(types.UID(args[0]))
	case "run":
		d, err := time.ParseDuration(args[0])
		require.NoError(t, err)
		w.Run(d)
	case "exit":
		code, err := strconv.Atoi(args[2])
		require.NoError(t, err)
		require.NoError(t, w.Machine().ExitContainer(newestContainer(t, w, args[0], args[1]), int32(code)))
	case "reason":
		require.NoError(t, w.Machine().SetReason(newestContainer(t, w, args[0], args[1]), args[2]))
	case "lose":
		require.NoError(t, w.Machine().LoseContainer(newestContainer(t, w, args[0], args[1])))
	case "kill-sandbox":
		require.NoError(t, w.Machine().KillSandbox(newestSandbox(t, w, args[0])))
	case "runtime":
		w.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: args[0] == "up", NetworkReady: true, RuntimeMessage: "it is down"})
	case "network":
		w.Machine().SetStatus(runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: args[0] == "up", NetworkMessage: "no CNI"})
	case "pulls":
		var reason error
		if args[1] == "fail" {
			reason = fmt.Errorf("no such image %s", args[0])
		}
		w.Machine().FailPulls(args[0], reason)
	default:
		t.Fatalf("unknown command %q", verb)
	}
}

func evictPod(t *testing.T, w nodetest.Harness, uid types.UID, options []string) {
	t.Helper()
	var e node.Eviction
	for _, option := range options {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "reason":
			e.Reason, e.Message = value, "the story says so"
		case "grace":
			n, err := strconv.ParseInt(value, 10, 64)
			require.NoError(t, err)
			e.GraceSeconds = &n
		default:
			t.Fatalf("unknown option %q", key)
		}
	}
	_, err := w.Node().Evict(uid, e)
	require.NoError(t, err)
}

func parsePod(t *testing.T, args []string) *v1.Pod {
	t.Helper()
	name := args[0]
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Annotations: map[string]string{}}}
	rest := args[1:]
	for len(rest) > 0 {
		key, value, ok := strings.Cut(rest[0], "=")
		if !ok {
			break
		}
		rest = rest[1:]
		value = strings.ReplaceAll(value, "_", " ")
		switch key {
		case "uid":
			p.UID = types.UID(value)
		case "restart":
			p.Spec.RestartPolicy = v1.RestartPolicy(value)
		case "grace":
			n, err := strconv.ParseInt(value, 10, 64)
			require.NoError(t, err)
			p.Spec.TerminationGracePeriodSeconds = &n
		case "init":
			n := fmt.Sprintf("i%d", len(p.Spec.InitContainers))
			p.Spec.InitContainers = append(p.Spec.InitContainers, parseContainer(name, n, strings.Fields(value)))
		case "deadline":
			d, err := time.ParseDuration(value)
			require.NoError(t, err)
			p.Spec.ActiveDeadlineSeconds = new(int64(d / time.Second))
		case "cpu":
			q := resource.MustParse(value)
			defer func() {
				p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: q}
			}()
		case "script":
			p.Annotations["memory.podkeel.dev/c0"] = value
		case "port":
			n, err := strconv.Atoi(value)
			require.NoError(t, err)
			defer func() {
				p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(n)}}
			}()
		default:
			t.Fatalf("unknown option %q", key)
		}
	}
	for i, words := range strings.Split(strings.Join(rest, " "), "|") {
		p.Spec.Containers = append(p.Spec.Containers, parseContainer(name, fmt.Sprintf("c%d", i), strings.Fields(words)))
	}
	return p
}

// parseContainer returns a container with one argument per word. The words after "sh -c" are one argument.
func parseContainer(pod, name string, words []string) v1.Container {
	if len(words) > 2 && words[0] == "sh" {
		words = []string{"sh", "-c", strings.Join(words[2:], " ")}
	}
	return v1.Container{Name: name, Image: pod + "-" + name + ":1", Command: words}
}
