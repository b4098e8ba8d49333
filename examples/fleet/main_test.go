package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
)

func TestRun_Arguments(t *testing.T) {
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{nil, 0, "--kubeconfig admin.kubeconfig", ""},
		{[]string{"--help"}, 0, "--node-prefix prefix\n", ""},
		{[]string{"--help"}, 0, "\n  --impersonate\n    \teach node", ""},
		{[]string{"--impersonate=x"}, 2, "", "fleet: invalid boolean value \"x\" for --impersonate: parse error\n"},
		{[]string{"--no-such-flag"}, 2, "", "fleet: flag provided but not defined: --no-such-flag; --help shows all flags\n"},
		{[]string{"--nodes", "3"}, 2, "", "fleet: --kubeconfig is missing\n"},
		{[]string{"--kubeconfig", "x", "y"}, 2, "", "fleet: unexpected argument \"y\"\n"},
		{[]string{"--kubeconfig", "x", "--nodes", "0"}, 2, "", "fleet: --nodes 0: expected 1 to 5000\n"},
		{[]string{"--kubeconfig", "x", "--every", "0s"}, 2, "", "fleet: --every 0s: expected more than zero\n"},
		{[]string{"--kubeconfig", "x", "--node-prefix", ""}, 2, "", "fleet: --node-prefix is empty\n"},
		{[]string{"--labels", "y"}, 2, "", "fleet: invalid value \"y\" for flag --labels: expected labels, as disk=ssd,zone=a\n"},
		{[]string{"--taints", "a=b:Never"}, 2, "", "fleet: invalid value \"a=b:Never\" for flag --taints: expected taints, as dedicated=gpu:NoSchedule\n"},
		{[]string{"--capacity", "cpu=much"}, 2, "", "fleet: invalid value \"cpu=much\" for flag --capacity: expected resources, as cpu=8,memory=32Gi,pods=110\n"},
		{[]string{"--kubeconfig", "/no/such/file"}, 1, "", "fleet: --kubeconfig: stat /no/such/file: no such file or directory\n"},
	} {
		var out, logs bytes.Buffer
		assert.Equal(t, c.code, run(t.Context(), c.args, strings.NewReader(""), &out, &logs), "%v", c.args)
		assert.Contains(t, out.String(), c.out, "%v", c.args)
		assert.Equal(t, c.err, logs.String(), "%v", c.args)
	}
}

// output tells when a text was printed.
type output struct {
	mu    sync.Mutex
	text  string
	await map[string]chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text += string(b)
	for text, c := range o.await {
		if strings.Contains(o.text, text) {
			close(c)
			delete(o.await, text)
		}
	}
	return len(b), nil
}

// clear forgets the printed text.
func (o *output) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = ""
}

// until waits for a text.
func (o *output) until(t *testing.T, text string) {
	t.Helper()
	c := make(chan struct{})
	o.mu.Lock()
	o.await[text] = c
	o.mu.Unlock()
	_, _ = o.Write(nil) // It may have been printed.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-c:
	case <-ctx.Done():
		o.mu.Lock()
		defer o.mu.Unlock()
		require.Fail(t, text+" was not printed", o.text)
	}
}

// TestFleet: nodes join, run pods by their annotations, and end.
func TestFleet(t *testing.T) {
	flags := pflag.NewFlagSet("fleet", pflag.ContinueOnError)
	o := defineFlags(flags)
	err := flags.Parse([]string{"--kubeconfig", "-", "--nodes", "3", "--labels", "zone=a", "--every", "20ms"})
	require.NoError(t, err)
	server := apiservertest.New(apiservertest.Config{})
	out := &output{await: map[string]chan struct{}{}}
	var logs bytes.Buffer
	f := &fleet{options: o, out: out, requests: func() int64 { return 0 }, logs: newDedupHandler(&logs)}
	commands, console := io.Pipe()
	f.commands = commands
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.createAndRunNodes(ctx, func(name string) (apiserver.Server, error) { return server.Client(name), nil })
	}()
	out.until(t, "nodes: 3 of 3 Ready  pods: 0 Running, 0 ready")
	assert.Equal(t, "a", server.Admin().Node("fleet-2").Labels["zone"])
	for name, script := range map[string]string{"fails": "exit=3", "runs": "run=forever"} {
		_, err := server.Admin().CreatePod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"memory.podkeel.dev/c": script}},
			Spec:       v1.PodSpec{NodeName: "fleet-1", RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
		})
		require.NoError(t, err)
	}
	out.until(t, "pods: 1 Running, 1 ready, 1 Failed")
	for _, c := range []struct{ command, want, counts string }{
		{"stop fleet-1", "fleet-1 has stopped: its containers keep running", "nodes: 2 of 3 Ready  pods: 0 Running, 0 ready"},
		{"stop fleet-1", "fleet-1 has stopped", ""},
		{"start fleet-1", "fleet-1 has started", "nodes: 3 of 3 Ready  pods: 1 Running, 1 ready, 1 Failed"},
		{"start fleet-1", "fleet-1 runs already", ""},
		{"crash fleet-1", "fleet-1 has crashed: its containers are gone", "nodes: 2 of 3 Ready"},
		{"start fleet-1", "fleet-1 has started", "pods: 0 Running, 0 ready, 2 Failed"},
		{"stop fleet-3", `there is no node "fleet-3": the names are fleet-0 to fleet-2`, ""},
		{"lose fleet-1", `"lose" is no command: expected stop, start or crash`, ""},
		{"stop", `"stop" is no command: expected stop, start or crash, and the name of a node`, ""},
	} {
		out.clear()
		_, err := fmt.Fprintln(console, c.command)
		require.NoError(t, err)
		out.until(t, c.want)
		out.until(t, c.counts)
	}
	require.NoError(t, console.Close())
	cancel()
	require.NoError(t, <-done)
	out.until(t, "ending after")
	assert.Empty(t, logs.String())
}

// refusing is a server that refuses the first request.
type refusing struct {
	apiserver.Server
	err error
}

func (r refusing) Nodes() apiserver.Nodes { return refused{err: r.err} }

type refused struct {
	apiserver.Nodes
	err error
}

func (r refused) Get(context.Context, string) (*v1.Node, error) { return nil, r.err }

// TestFleet_Refused: a refusal of the first request is explained, and nothing is run.
func TestFleet_Refused(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for _, c := range []struct {
		err         error
		impersonate bool
		want        string
	}{
		{apierrors.NewUnauthorized("no such token"), true, "the API server does not know the user of the kubeconfig: use newer credentials: no such token"},
		{apierrors.NewForbidden(nodes, "", errors.New("no")), true, "the user of the kubeconfig may not act as a node: grant it the verb impersonate"},
		{apierrors.NewForbidden(nodes, "", errors.New("no")), false, "the user of the kubeconfig may not read nodes: use one that may write nodes, leases and pods: nodes is forbidden: no"},
		{errors.New("connection refused"), true, "the API server does not answer: check its address and certificate in the kubeconfig: connection refused"},
		{apierrors.NewTooManyRequests("busy", 1), true, "busy"},
	} {
		f := &fleet{options: &options{nodes: 1, prefix: "fleet", impersonate: c.impersonate}}
		err := f.createAndRunNodes(t.Context(), func(string) (apiserver.Server, error) { return refusing{err: c.err}, nil })
		assert.ErrorContains(t, err, c.want)
		assert.ErrorIs(t, err, c.err)
	}
}

// TestCounts: the line has the counts and omits most counts that are zero.
func TestCounts(t *testing.T) {
	pod := func(phase v1.PodPhase, restarts int32, ready v1.ConditionStatus) *v1.Pod {
		return &v1.Pod{Status: v1.PodStatus{
			Phase: phase, ContainerStatuses: []v1.ContainerStatus{{RestartCount: restarts}}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}},
		}}
	}
	leaving := pod(v1.PodRunning, 1, v1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	node := func(ready v1.ConditionStatus) *v1.Node {
		return &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}}}
	}
	var c fleetCounts
	c.addNode(nil, nil)
	c.addNode(node(v1.ConditionFalse), nil)
	c.addNode(node(v1.ConditionTrue), []*v1.Pod{pod(v1.PodRunning, 0, v1.ConditionTrue)})
	assert.Equal(t, "nodes: 1 of 3 Ready  pods: 1 Running, 1 ready", c.String())
	c.addNode(node(v1.ConditionTrue), []*v1.Pod{
		pod(v1.PodRunning, 2, v1.ConditionFalse), pod("", 0, ""), pod(v1.PodSucceeded, 0, ""), pod(v1.PodFailed, 0, ""), leaving,
	})
	assert.Equal(t, "nodes: 2 of 4 Ready  pods: 2 Running, 1 ready, 1 Pending, 1 Succeeded, 1 Failed, 1 Terminating, 3 restarts", c.String())
}

// TestDigest: what many nodes say at once is one line, and a count.
func TestDigest(t *testing.T) {
	var out bytes.Buffer
	d := newDedupHandler(&out)
	for _, node := range []string{"fleet-0", "fleet-1", "fleet-2"} {
		log := slog.New(d).With("node", node).WithGroup("g")
		log.Warn("a report failed", "err", "busy")
		log.Info("not shown")
	}
	slog.New(d).Error("once")
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 3)
	assert.Contains(t, lines[0], `level=WARN msg="a report failed" node=fleet-0 g.err=busy`)
	assert.Contains(t, lines[1], "level=ERROR msg=once")
	out.Reset()
	d.printAndResetRepeated()
	assert.Equal(t, "2 more times: a report failed\n", out.String())
	out.Reset()
	d.printAndResetRepeated()
	assert.Empty(t, out.String())
}
