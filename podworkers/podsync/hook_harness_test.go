package podsync_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// hookScript is how the hooks of a container go.
type hookScript struct {
	takes      time.Duration
	fail, hang bool
}

// tapWithFeatures returns the tap with the features of the story's runtime.
func (st *story) tapWithFeatures() runtime.Runtime {
	switch st.feature {
	case "answer":
		return answering{st.tap, st}
	case "exec":
		return execing{st.tap, st}
	case "joins":
		st.tap.joins = true
	}
	return st.tap
}

// playHook plays the script of a hook and reports whether the hook succeeds.
func (st *story) playHook(ctx context.Context, container string, purpose runtime.Purpose) (ok bool, err error) {
	name, _, _ := strings.Cut(container, "/")
	script, seam := st.hooks[name+" "+string(purpose)], executor.Over(st.b.p.Clock())
	takes := script.takes
	if script.hang {
		takes = 1000 * time.Hour
	}
	if err := seam.Sleep(ctx, takes); err != nil {
		return false, err
	}
	return !script.fail, nil
}

// answering is a runtime that answers for its containers.
type answering struct {
	*tap
	st *story
}

func (a answering) Features() runtime.Features {
	return runtime.Features{StatusReporter: a.tap, HandlerRunner: a}
}

func (a answering) RunHandler(ctx context.Context, req runtime.RunHandlerRequest) (res runtime.RunHandlerResult, err error) {
	err = a.recordCall("RunHandler", fmt.Sprintf("%s %s", a.names[req.ContainerID], req.Purpose), func() error {
		res.OK, err = a.st.playHook(ctx, a.names[req.ContainerID], req.Purpose)
		res.Message = "a secret"
		return err
	})
	return res, err
}

// execing is a runtime that runs commands; what a hook is for it learns from the
// command itself.
type execing struct {
	*tap
	st *story
}

func (e execing) Features() runtime.Features {
	return runtime.Features{StatusReporter: e.tap, Execer: e}
}

func (e execing) Exec(ctx context.Context, req runtime.ExecRequest) (res runtime.ExecResult, err error) {
	err = e.recordCall("Exec", fmt.Sprintf("%s %s", e.names[req.ContainerID], strings.Join(req.Command, " ")), func() error {
		ok, err := e.st.playHook(ctx, e.names[req.ContainerID], purposeOf(req.Command))
		if !ok {
			res.ExitCode = 3
		}
		res.Output = []byte("a secret")
		return err
	})
	return res, err
}

func purposeOf(command []string) runtime.Purpose {
	if slices.Contains(command, "hello") {
		return runtime.PostStartHook
	}
	return runtime.PreStopHook
}

// getter makes the requests of hooks; it is all of the network there is.
type getter struct{ st *story }

func (g getter) Get(ctx context.Context, url string, header http.Header) error {
	return g.st.tap.recordCall("GET", fmt.Sprintf("%s %v", url, header), func() error {
		ok, err := g.st.playHook(ctx, "http", runtime.PreStopHook)
		if err == nil && !ok {
			err = errors.New("a secret")
		}
		return err
	})
}

// setHookScript performs the command hook.
func (st *story) setHookScript(d *datadriven.TestData) {
	var script hookScript
	for _, arg := range d.CmdArgs[2:] {
		switch arg.Key {
		case "takes":
			script.takes = st.parseDuration(arg.Vals[0])
		case "fail":
			script.fail = true
		case "hang":
			script.hang = true
		default:
			d.Fatalf(st.t, "hook ... %s?", arg.Key)
		}
	}
	purpose := map[string]runtime.Purpose{"prestop": runtime.PreStopHook, "poststart": runtime.PostStartHook}[d.CmdArgs[1].Key]
	st.hooks[d.CmdArgs[0].Key+" "+string(purpose)] = script
}

func ensureLifecycle(c *v1.Container) *v1.Lifecycle {
	if c.Lifecycle == nil {
		c.Lifecycle = &v1.Lifecycle{}
	}
	return c.Lifecycle
}

// parseHandler reads exec WORD..., sleep SECONDS, tcp, http PORT PATH [SCHEME [HOST]].
func (st *story) parseHandler(f []string) *v1.LifecycleHandler {
	switch f[0] {
	case "exec":
		return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: f[1:]}}
	case "sleep":
		return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: *st.parseNumber(f[1])}}
	case "tcp":
		return &v1.LifecycleHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	case "http":
		get := &v1.HTTPGetAction{Port: intstr.Parse(f[1]), Path: f[2], HTTPHeaders: []v1.HTTPHeader{{Name: "x-a", Value: "1"}}}
		if len(f) > 3 {
			get.Scheme = v1.URIScheme(f[3])
		}
		if len(f) > 4 {
			get.Host = f[4]
		}
		return &v1.LifecycleHandler{HTTPGet: get}
	}
	st.t.Fatalf("no handler %s", f[0])
	return nil
}

// createContainers starts all containers of the pod without the syncer, as if an earlier agent had started them. It
// only creates the containers in created.
func (st *story) createContainers(created ...string) {
	ctx, clk := context.Background(), st.b.p.Clock()
	rt := st.mem.WithClock(clk)
	st.b.runCall(func() {
		ref := runtime.PodRef{UID: st.pod.UID, Name: st.pod.Name, Namespace: st.pod.Namespace, Incarnation: 1}
		sandbox, err := rt.RunSandbox(ctx, runtime.RunSandboxRequest{Pod: ref, Annotations: st.pod.Annotations})
		require.NoError(st.t, err)
		image, err := rt.PullImage(ctx, runtime.PullImageRequest{Image: "img:1"})
		require.NoError(st.t, err)
		for _, c := range slices.Concat(st.pod.Spec.InitContainers, st.pod.Spec.Containers) {
			annotations := maps.Clone(st.pod.Annotations)
			for key, value := range st.noted {
				if name, key, _ := strings.Cut(key, " "); name == c.Name {
					annotations[key] = value
				}
			}
			id, err := rt.CreateContainer(ctx, runtime.CreateContainerRequest{
				Pod: ref, SandboxID: sandbox, Name: c.Name, Image: c.Image, ImageRef: image, Annotations: annotations,
			})
			require.NoError(st.t, err)
			if !slices.Contains(created, c.Name) {
				require.NoError(st.t, rt.StartContainer(ctx, runtime.StartContainerRequest{ContainerID: id}))
			}
		}
	})
}
