package main

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/node"
)

func TestRun_Arguments(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{nil, 0, "--kubeconfig node.kubeconfig", ""},
		{[]string{"--help"}, 0, "\n  --port port\n    \tport of the node's API, for kubectl logs, exec, attach, cp and port-forward; 0: it is not served (default 10250)\n  --register-with-taints taints\n", ""},
		{[]string{"--no-such-flag"}, 2, "", "cluster: flag provided but not defined: --no-such-flag; --help shows all flags\n"},
		{[]string{"--port"}, 2, "", "cluster: flag needs an argument: --port\n"},
		{[]string{"--port", "1"}, 2, "", "cluster: --kubeconfig is missing\n"},
		{[]string{"--kubeconfig", "x", "y"}, 2, "", "cluster: unexpected argument \"y\"\n"},
		{[]string{"--kubeconfig", "x", "--runtime", "y"}, 2, "", "cluster: --runtime \"y\": expected memory or cri\n"},
		{[]string{"--node-ip", "y"}, 2, "", "cluster: invalid value \"y\" for flag --node-ip: expected addresses, as 192.0.2.1,2001:db8::1\n"},
		{[]string{"--node-labels", "y"}, 2, "", "cluster: invalid value \"y\" for flag --node-labels: expected labels, as disk=ssd,zone=a\n"},
		{[]string{"--register-with-taints", "a=b:Never"}, 2, "", "cluster: invalid value \"a=b:Never\" for flag --register-with-taints: expected taints, as dedicated=gpu:NoSchedule\n"},
		{[]string{"--cgroup-driver", "y"}, 2, "", "cluster: invalid value \"y\" for flag --cgroup-driver: expected cgroupfs or systemd\n"},
		{[]string{"--cluster-dns", "y"}, 2, "", "cluster: invalid value \"y\" for flag --cluster-dns: expected addresses, as 192.0.2.1,2001:db8::1\n"},
		{[]string{"--kubeconfig", "x", "--cluster-domain", "a b"}, 2, "", "cluster: --cluster-domain \"a b\": expected a DNS name, as cluster.local\n"},
		{[]string{"--kubeconfig", "x", "--hostname-override", "A_b"}, 2, "", "cluster: --hostname-override \"a_b\": expected a DNS name of lower case letters, digits, dashes and dots, as node-1\n"},
		{[]string{"--kubeconfig", "x", "--max-pods", "0"}, 2, "", "cluster: --max-pods 0: expected 1 or more\n"},
		{[]string{"--kubeconfig", "x", "--address", "here"}, 2, "", "cluster: --address \"here\": expected an address, as 0.0.0.0\n"},
		{[]string{"--kubeconfig", empty, "--hostname-override", "n"}, 1, "", "cluster: --kubeconfig: " + empty + " has no current context that names a cluster\n"},
		{[]string{"--kubeconfig", "/no/such/file", "--hostname-override", "n"}, 1, "", "cluster: --kubeconfig: stat /no/such/file: no such file or directory\n"},
	} {
		var out, logs bytes.Buffer
		assert.Equal(t, c.code, run(t.Context(), c.args, &out, &logs), "%v", c.args)
		assert.Contains(t, out.String(), c.out, "%v", c.args)
		assert.Equal(t, c.err, logs.String(), "%v", c.args)
	}
}

// parse parses a command line as run does.
func parse(args []string) (*options, error) {
	f := pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	o := defineFlags(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return o, o.checkAndComplete()
}

// refusing is a server whose first request fails.
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

// TestPrintRegistration: the program tells the user what to do about a rejected request, and that the node is registered.
func TestPrintRegistration(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{apierrors.NewNotFound(nodes, "n1"), ""},
		{apierrors.NewUnauthorized("no"), "not registered, and tried again: the API server does not know the user of the kubeconfig: use newer credentials\n"},
		{
			apierrors.NewForbidden(nodes, "n1", errors.New("no")),
			"not registered, and tried again: the user of the kubeconfig may not act as node n1: it must be system:node:n1 of the group system:nodes, and --hostname-override must name its node\n",
		},
		{
			&url.Error{Op: "Get", URL: "https://192.0.2.1/api?x=1", Err: errors.New("refused")},
			"not registered, and tried again: the API server does not answer: check its address and certificate in the kubeconfig: Get https://192.0.2.1/api: refused\n",
		},
		{apierrors.NewTooManyRequests("busy", 1), "not registered, and tried again: busy\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := apiservertest.New(apiservertest.Config{}).Client("n1")
			n, err := cluster.New(cluster.Config{Server: server, Node: node.Config{Name: "n1"}})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			var out bytes.Buffer
			done := make(chan struct{})
			go func() {
				defer close(done)
				printAdviceAndRegistration(ctx, n, refusing{err: c.err}, "n1", &out)
			}()
			synctest.Wait()
			assert.Equal(t, c.want, out.String())
			ended := make(chan error, 1)
			go func() { ended <- n.Run(ctx) }()
			<-done
			assert.Equal(t, c.want+"node n1 is registered\n", out.String())
			cancel()
			require.NoError(t, <-ended)
		})
	}
}

// TestChangeLine: a line is printed once, and again if a pod of that name has another UID.
func TestChangeLine(t *testing.T) {
	pod := func(uid types.UID, phase v1.PodPhase) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Namespace: "default", Name: "web"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}, Status: v1.PodStatus{Phase: phase},
		}
	}
	printed, lines := map[types.UID]string{}, []string(nil)
	for _, state := range []node.PodState{
		{Pod: pod("a", v1.PodPending)}, {Pod: pod("a", v1.PodPending)}, {Pod: pod("a", v1.PodPending), Terminating: true},
		{Pod: pod("a", v1.PodFailed), Gone: true}, {Pod: pod("b", v1.PodPending)},
	} {
		if text, news := formatIfChanged(printed, state); news {
			lines = append(lines, text)
		}
	}
	assert.Equal(t, []string{"default/web\t0/1 Pending", "default/web\t0/1 Terminating", "default/web\tdeleted", "default/web\t0/1 Pending"}, lines)
	assert.Len(t, printed, 1)
}

// TestConfig_ClaimedRoot: of two programs with one directory the second exits with an error and changes nothing there.
func TestConfig_ClaimedRoot(t *testing.T) {
	root := t.TempDir()
	claimed, err := osfile.LockDir(root)
	require.NoError(t, err)
	defer claimed.Close()
	o, err := parse([]string{"--kubeconfig", "x", "--runtime", "cri", "--root-dir", root})
	require.NoError(t, err)
	_, err = o.nodeConfigAndLockRoot(nil, nil)
	assert.EqualError(t, err, "--root-dir "+root+": another agent uses it")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
