package clusterlab_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/runtime/memory"
	joined "github.com/podkeel/podkeel/syncloop/cluster"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
	"github.com/podkeel/podkeel/syncloop/node"
)

// fault is something that is wrong for a while between a node and its server. Each is in one
// cluster with the others, on a node of its own.
type fault struct {
	name   string
	alone  bool                   // it is in the way of other nodes
	begin  func(*troubled) func() // returns its end
	step   func(*troubled)        // is done every second meanwhile
	byHand bool                   // statuses are not the node's alone
	clock  time.Duration          // by which the node's clock is ahead
}

// faultLasts is how long each fault lasts: longer than the pauses between attempts, and than the
// period of the lease.
const faultLasts = 12 * time.Second

func allFaults() []fault {
	by := func(what trouble) func(*troubled) func() {
		return func(n *troubled) func() {
			n.gate.setTrouble(what)
			return func() { n.gate.setTrouble(nil) }
		}
	}
	token := func(instead string) func(*troubled) func() {
		return func(n *troubled) func() {
			n.gate.changeAndDisconnect(func() { n.gate.tokens["first"] = instead })
			return func() { n.gate.changeAndDisconnect(func() { n.gate.tokens["first"] = n.node + "-token" }) }
		}
	}
	return []fault{
		{name: "frozen", alone: true, begin: func(n *troubled) func() { n.lab.FreezeServer(); return n.lab.ThawServer }},
		{name: "killed", alone: true, begin: func(n *troubled) func() {
			n.lab.KillServer()
			return func() { require.NoError(n, n.lab.StartServer(n.Context())) }
		}},
		{name: "slow", begin: by(delayRequests(2 * time.Second))},
		{name: "429", begin: by(func(w http.ResponseWriter, _ *http.Request) bool {
			return writeError(w, apierrors.NewTooManyRequests("busy", 1))
		})},
		{name: "410", begin: by(func(w http.ResponseWriter, r *http.Request) bool {
			return isWatch(r) && writeError(w, apierrors.NewResourceExpired("too old"))
		})},
		{name: "401", begin: token("none")},
		{name: "403", begin: token("nobody-token")},
		{name: "wrong-ca", begin: func(n *troubled) func() {
			strange := selfSigned(n.T)
			n.gate.changeAndDisconnect(func() { n.gate.strange = &strange })
			return func() { n.gate.changeAndDisconnect(func() { n.gate.strange = nil }) }
		}},
		{name: "token-revoked", begin: func(n *troubled) func() {
			n.gate.changeAndDisconnect(func() { n.gate.tokens["first"] = "none" })
			return func() { require.NoError(n, os.WriteFile(n.tokenFile, []byte("second"), 0o600)) }
		}},
		{name: "node-deleted", step: func(n *troubled) { _ = n.deleteNode() }}, // It may not be there again.
		{name: "node-recreated", step: func(n *troubled) {
			_ = n.deleteNode()
			_, _ = n.admin.Create(n.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.node, Labels: map[string]string{"by": "hand"}}}) // The node may be first.
		}},
		{name: "mirror-deleted", step: func(n *troubled) { n.deletePod("dns-"+n.node, 0) }},
		{name: "status-edited", byHand: true, step: (*troubled).editStatuses},
		{name: "force-deleted", step: func(n *troubled) {
			for range 3 {
				n.deletePod(n.podName("quick"), 0)
				n.createPod("quick")
			}
		}},
		{name: "clock-ahead", clock: time.Hour},
		{name: "clock-behind", clock: -time.Hour},
	}
}

// TestFaults: pods are created and deleted at a real server during a fault. No desired pod is stopped or restarted,
// and no status goes backwards. Afterwards the machine runs the bound pods, the server shows them, and the node is
// Ready.
func TestFaults(t *testing.T) {
	all := allFaults()
	nodes := []string{"nobody"}
	for _, f := range all {
		nodes = append(nodes, f.name)
	}
	c := startLab(t, clusterlab.Config{Nodes: nodes})
	for _, alone := range []bool{true, false} {
		t.Run(map[bool]string{true: "Alone", false: "Together"}[alone], func(t *testing.T) {
			var together sync.WaitGroup // They wait more than they compute: as many as there are, whatever -parallel says.
			for _, f := range all {
				if f.alone != alone {
					continue
				}
				together.Go(func() { t.Run(f.name, func(t *testing.T) { joinThrough(t, c, f).runFault(f) }) })
				if alone {
					together.Wait()
				}
			}
			together.Wait()
		})
	}
}

// troubled is a node in memory behind a gate.
type troubled struct {
	*testing.T
	lab       *clusterlab.Cluster
	admin     *clusterlab.Admin
	node      string
	gate      *gate
	tokenFile string
	machine   *memory.Runtime
	court     *court
}

// ahead is the real clock with another time.
type ahead struct {
	clock.RealClock
	by time.Duration
}

func (c ahead) Now() time.Time                  { return c.RealClock.Now().Add(c.by) }
func (c ahead) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// joinThrough joins a control plane through a gate.
func joinThrough(t *testing.T, c *clusterlab.Cluster, f fault) *troubled {
	n := &troubled{T: t, lab: c, node: f.name, gate: newGate(t, c), tokenFile: filepath.Join(t.TempDir(), "token"), machine: memory.New(memory.Config{})}
	var err error
	n.admin, err = c.Admin()
	require.NoError(t, err)
	n.gate.tokens["first"], n.gate.tokens["second"] = n.node+"-token", n.node+"-token"
	require.NoError(t, os.WriteFile(n.tokenFile, []byte("first"), 0o600))
	server, err := client.New(&rest.Config{
		Host: n.gate.URL, BearerTokenFile: n.tokenFile, TLSClientConfig: rest.TLSClientConfig{CAData: certificatePEM(n.gate.Certificate())},
	}, n.node)
	require.NoError(t, err)
	seen, err := client.New(c.Rest(n.node), n.node)
	require.NoError(t, err)
	n.court = &court{
		seen: seen, runtime: n.machine, judge: judge{byHand: f.byHand},
		keep: func(name string) bool { return strings.Contains(name, "stay") || strings.HasPrefix(name, "dns-") },
	}
	static := source.NewHandle()
	config := joined.Config{Server: server, Node: node.Config{
		Name: n.node, Runtime: n.machine, Pods: node.PodsConfig{Sources: map[string]source.Source{"file": static}, OrphanGrace: -1},
		Log: slog.New(slog.NewTextHandler(logOf(t), nil)),
	}}
	if f.clock != 0 {
		config.Node.Clock = ahead{by: f.clock}
	}
	joint, err := joined.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- joint.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
		server.Reconnect()
		seen.Reconnect()
	})
	require.NoError(t, static.Apply(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: types.UID("static-" + n.node), Namespace: "default", Name: "dns-" + n.node,
			Annotations: map[string]string{podmanager.ConfigHashAnnotation: "static-" + n.node},
		},
		Spec: v1.PodSpec{NodeName: n.node, Containers: []v1.Container{{Name: "c", Image: "dns:1"}}},
	}))
	return n
}

// logOf is a file whose end is shown if the test fails.
func logOf(t *testing.T) *os.File {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if text, _ := os.ReadFile(f.Name()); t.Failed() {
			t.Logf("the end of the log of the node:\n%s", text[max(0, len(text)-6000):])
		}
		_ = f.Close() // The node has ended.
	})
	return f
}

func (n *troubled) podName(base string) string { return n.node + "-" + base }

// createPod creates a pod on the node. It returns false if the server refuses it or does not respond.
func (n *troubled) createPod(base string) bool {
	ctx, cancel := context.WithTimeout(n.Context(), 2*time.Second)
	defer cancel()
	_, err := n.admin.Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n.podName(base)},
		Spec:       v1.PodSpec{NodeName: n.node, TerminationGracePeriodSeconds: new(int64(1)), Containers: []v1.Container{{Name: "c", Image: "web:1"}}},
	})
	return err == nil
}

// deletePod deletes a pod if it exists and the server responds.
func (n *troubled) deletePod(name string, grace int64) {
	ctx, cancel := context.WithTimeout(n.Context(), 2*time.Second)
	defer cancel()
	_ = n.admin.Delete(ctx, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, &grace) // See above.
}

func (n *troubled) deleteNode() error {
	return n.admin.Delete(n.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.node}}, nil)
}

// editStatuses has the pods that stay be anything but what they are.
func (n *troubled) editStatuses() {
	phases := []v1.PodPhase{v1.PodPending, v1.PodFailed, v1.PodSucceeded, v1.PodUnknown}
	for i, base := range []string{"stay-0", "stay-1"} {
		pod, err := n.admin.Get(n.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: n.podName(base)}})
		require.NoError(n, err)
		s := &pod.(*v1.Pod).Status
		s.Phase, s.Message, s.PodIP, s.PodIPs = phases[(time.Now().Second()+i)%len(phases)], "by hand", nowhere, []v1.PodIP{{IP: nowhere}}
		s.ContainerStatuses, s.Conditions = nil, nil
		_, _ = n.admin.UpdateStatus(n.Context(), pod) // The node may be first.
	}
}

// waitForSettled waits until the machine runs the pods of the server and the node is Ready. It returns the time that it
// has waited.
func (n *troubled) waitForSettled() time.Duration {
	n.Helper()
	began, last := time.Now(), ""
	for {
		why, pods := n.court.findUnsettled(n.Context())
		switch {
		case why != "":
		case len(pods) < 3:
			why = fmt.Sprintf("the server has %d pods", len(pods))
		case !n.isNodeReady():
			why = "the node is not Ready"
		default:
			return time.Since(began).Round(10 * time.Millisecond)
		}
		if why != last {
			last = why
			n.Logf("after %v: %s", time.Since(began).Round(time.Millisecond), why)
		}
		require.Less(n, time.Since(began), joinLimit, "%s; wrong before: %v", why, n.court.violations())
		sleepContext(n.Context(), 50*time.Millisecond)
	}
}

// isNodeReady reports whether the server shows the node as Ready.
func (n *troubled) isNodeReady() bool {
	o, err := n.admin.Get(n.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.node}})
	if err != nil {
		return false
	}
	for _, c := range o.(*v1.Node).Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func (n *troubled) runFault(f fault) {
	require.True(n, n.createPod("stay-0") && n.createPod("stay-1"))
	n.waitForSettled()
	ctx, cancel := context.WithCancel(n.Context())
	var beside sync.WaitGroup
	stop := sync.OnceFunc(func() { cancel(); beside.Wait() })
	defer stop()
	beside.Go(func() { n.court.collectStates(ctx) })
	n.createPod("goes")
	n.createPod("early")
	end := func() {}
	if f.begin != nil {
		end = f.begin(n)
	}
	n.deletePod(n.podName("goes"), 1)
	began := time.Now()
	for i := 0; time.Since(began) < faultLasts; i++ {
		if f.step != nil {
			f.step(n)
		}
		n.createPod(fmt.Sprint("comes-", i%3))
		n.deletePod(n.podName(fmt.Sprint("comes-", (i+1)%3)), int64(i%2))
		sleepContext(n.Context(), time.Second)
	}
	end()
	n.Logf("over to all as it should be: %v", n.waitForSettled())
	n.createPod("late")
	n.Logf("a pod more: %v", n.waitForSettled())
	stop()
	assert.Empty(n, n.court.violations())
}

// certificatePEM is a certificate as files have it.
func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// selfSigned is a certificate for the loopback interface that no one trusts.
func selfSigned(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "strange"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}
}
