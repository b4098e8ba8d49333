package syncloop_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
)

func podOfSource(name, source string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	if source != "" {
		p.Annotations = map[string]string{podmanager.ConfigSourceAnnotation: source}
	}
	return p
}

func TestAdmitPodCount_AD5(t *testing.T) {
	full := syncloop.PodAdmitAttributes{Pod: podOfSource("new", "api"), OtherPods: make([]*v1.Pod, syncloop.DefaultMaxPods)}
	for _, test := range []struct {
		max, others int
		want        string
	}{
		{1, 0, ""},
		{2, 1, ""},
		{2, 2, "OutOfpods: the node runs 2 pods and takes at most 2"},
		{2, 3, "OutOfpods: the node runs 3 pods and takes at most 2"},
		{0, syncloop.DefaultMaxPods - 1, ""},
		{0, syncloop.DefaultMaxPods, "OutOfpods: the node runs 110 pods and takes at most 110"},
	} {
		attrs := syncloop.PodAdmitAttributes{Pod: full.Pod, OtherPods: full.OtherPods[:test.others]}
		assert.Equal(t, test.want, describeResult(syncloop.AdmitPodCount(test.max).Admit(attrs)), "%d of %d", test.others, test.max)
	}
}

func describeResult(r syncloop.PodAdmitResult) string {
	if r.Admit {
		return r.Reason + r.Message
	}
	return r.Reason + ": " + r.Message
}

// port is "8080", "udp:8080" or "10.0.0.1:8080" in words.
type port struct {
	ip       string
	protocol v1.Protocol
	host     int32
	own      int32
}

func withPorts(pod *v1.Pod, init bool, ports ...port) *v1.Pod {
	c := v1.Container{}
	for _, p := range ports {
		c.Ports = append(c.Ports, v1.ContainerPort{HostIP: p.ip, Protocol: p.protocol, HostPort: p.host, ContainerPort: p.own})
	}
	if init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	} else {
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	return pod
}

func TestAdmitHostPorts_AD5(t *testing.T) {
	one := func(p port) *v1.Pod { return withPorts(podOfSource("new", "api"), false, p) }
	init := func(p port) *v1.Pod { return withPorts(podOfSource("new", "api"), true, p) }
	sidecar := func(p *v1.Pod) *v1.Pod {
		p.Spec.InitContainers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		return p
	}
	hostNetwork := func(p *v1.Pod) *v1.Pod { p.Spec.HostNetwork = true; return p }
	for name, test := range map[string]struct {
		held *v1.Pod
		want *v1.Pod
		deny string
	}{
		"the same":                     {one(port{host: 80}), one(port{host: 80}), "0.0.0.0:80/TCP"},
		"another port":                 {one(port{host: 80}), one(port{host: 81}), ""},
		"no host port":                 {one(port{own: 80}), one(port{own: 80}), ""},
		"another protocol":             {one(port{host: 53, protocol: "UDP"}), one(port{host: 53}), ""},
		"TCP said and not said":        {one(port{host: 53, protocol: "TCP"}), one(port{host: 53}), "0.0.0.0:53/TCP"},
		"another address":              {one(port{host: 80, ip: "10.0.0.1"}), one(port{host: 80, ip: "10.0.0.2"}), ""},
		"the same address":             {one(port{host: 80, ip: "10.0.0.1"}), one(port{host: 80, ip: "10.0.0.1"}), "10.0.0.1:80/TCP"},
		"any address is held":          {one(port{host: 80}), one(port{host: 80, ip: "10.0.0.1"}), "10.0.0.1:80/TCP"},
		"any address is wanted":        {one(port{host: 80, ip: "10.0.0.1"}), one(port{host: 80}), "0.0.0.0:80/TCP"},
		"any address of IPv6":          {one(port{host: 80, ip: "::"}), one(port{host: 80, ip: "10.0.0.1"}), "10.0.0.1:80/TCP"},
		"a sidecar holds it":           {sidecar(init(port{host: 80})), one(port{host: 80}), "0.0.0.0:80/TCP"},
		"a sidecar wants it":           {one(port{host: 80}), sidecar(init(port{host: 80})), "0.0.0.0:80/TCP"},
		"an init container had it":     {init(port{host: 80}), one(port{host: 80}), ""},
		"an init container names it":   {one(port{host: 80}), init(port{host: 80}), ""},
		"init in the host's net":       {hostNetwork(init(port{own: 80})), one(port{host: 80}), "0.0.0.0:80/TCP"},
		"the second of two":            {one(port{host: 80}), withPorts(podOfSource("a", "api"), false, port{host: 81}, port{host: 80}), "0.0.0.0:80/TCP"},
		"held through the host's net":  {hostNetwork(one(port{own: 80})), one(port{host: 80, own: 8080}), "0.0.0.0:80/TCP"},
		"wanted through the host's":    {one(port{host: 80}), hostNetwork(one(port{own: 80})), "0.0.0.0:80/TCP"},
		"both in the host's net":       {hostNetwork(one(port{own: 80})), hostNetwork(one(port{own: 80})), "0.0.0.0:80/TCP"},
		"the host's net and a private": {hostNetwork(one(port{own: 80})), one(port{own: 80}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.held.Name = "holder"
			attrs := syncloop.PodAdmitAttributes{Pod: test.want, OtherPods: []*v1.Pod{podOfSource("idle", "api"), test.held}}
			want := ""
			if test.deny != "" {
				want = "NodePorts: host port " + test.deny + " is taken by pod ns/holder"
			}
			assert.Equal(t, want, describeResult(syncloop.AdmitHostPorts().Admit(attrs)))
		})
	}
}

func TestAdmitNames_F19(t *testing.T) {
	elsewhere := podOfSource("web", "api")
	elsewhere.Namespace = "other"
	for name, test := range map[string]struct {
		held, want *v1.Pod
		deny       string
	}{
		"a static pod after another":  {podOfSource("web", "api"), podOfSource("web", "file"), `source "api"`},
		"another after a static pod":  {podOfSource("web", "file"), podOfSource("web", "api"), `source "file"`},
		"one that does not say":       {podOfSource("web", ""), podOfSource("web", "file"), "unknown source"},
		"two static pods take turns":  {podOfSource("web", "file"), podOfSource("web", "http"), ""},
		"two of the API":              {podOfSource("web", "api"), podOfSource("web", "api"), ""},
		"another name":                {podOfSource("web", "api"), podOfSource("db", "file"), ""},
		"the name in another's space": {elsewhere, podOfSource("web", "file"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := ""
			if test.deny != "" {
				want = "NameConflict: the name ns/web is taken by a pod of " + test.deny
			}
			attrs := syncloop.PodAdmitAttributes{Pod: test.want, OtherPods: []*v1.Pod{podOfSource("idle", "api"), test.held}}
			assert.Equal(t, want, describeResult(syncloop.AdmitNames().Admit(attrs)))
		})
	}
}

// TestPodAdmitAttributes_Requested: Requested returns the sum with and without a snapshot of sums.
func TestPodAdmitAttributes_Requested(t *testing.T) {
	attrs := syncloop.PodAdmitAttributes{OtherPods: []*v1.Pod{podRequesting("a", "cpu=1"), podRequesting("b", "cpu=500m memory=1Gi")}}
	for name, want := range map[v1.ResourceName]string{"cpu": "1500m", "memory": "1Gi", "pods": "2", "example.com/gpu": "0"} {
		sum := attrs.Requested(name)
		assert.Equal(t, want, sum.String(), name)
	}

	var asked []string
	w := newHarness()
	h, err := syncloop.NewHandlers(syncloop.HandlersConfig{
		Manager: w.manager.Store, Workers: w.workers, Status: w.status, Runtime: w, Sources: w.sources,
		Admit: []syncloop.PodAdmitHandler{syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
			sum := attrs.Requested("cpu")
			asked = append(asked, fmt.Sprintf("%s: %s, %d others, trial %t", attrs.Pod.UID, sum.String(), len(attrs.OtherPods), attrs.Trial))
			return syncloop.PodAdmitResult{Admit: sum.MilliValue() == 0, Reason: "Full"}
		})},
	})
	require.NoError(t, err)
	w.handlers = h
	for _, name := range []string{"a", "b"} {
		p := podRequesting(name, "cpu=1")
		p.UID = types.UID(name)
		if name == "b" {
			a, _ := w.manager.GetPodByUID("a")
			w.workers.performWork("a", lifecycle.Succeeded)
			h.HandlePodRemoves(t.Context(), []*v1.Pod{a})
		}
		h.HandlePodAdditions(t.Context(), []*v1.Pod{p})
	}
	assert.Equal(t, []string{"a: 0, 0 others, trial false", "b: 1, 0 others, trial false", "b: 0, 0 others, trial true"}, asked)
}
