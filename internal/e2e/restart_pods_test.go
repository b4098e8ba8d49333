//go:build linux

package e2e_test

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// shape is a kind of pod, and how one of it looks that has come where it is to
// stay.
type shape struct {
	name    string
	spec    string // $IMAGE, $COUNT: a directory of the machine, $GEN: the pod's own word
	settled func(*v1.Pod) bool
	kind    kind
}

// kind is what a steady pod promises.
type kind int

const (
	comes  kind = iota // and goes: it promises nothing
	stays              // it runs, and is Ready whenever anything is known of it
	probes             // it runs, and is Ready as soon as it was probed
)

// The containers of the pods. One of them does not hear that it is to end.
const (
	stay  = `command: [sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]`
	deaf  = `command: [sh, -c, "trap '' TERM; while :; do sleep 1; done"]`
	fine  = `exec: {command: ["true"]}`
	count = `name: count, mountPath: /count`
)

// steady are the pods that the test never changes.
var steady = []shape{
	{"plain", `{terminationGracePeriodSeconds: 1, containers: [{name: a, image: $IMAGE, ` + stay + `}, {name: b, image: $IMAGE, ` + stay + `}]}`, isReady, stays},
	{"probed", `{terminationGracePeriodSeconds: 1, containers: [
		{name: web, image: $IMAGE, command: [httpd, -f, -p, "8080", -h, /],
		 readinessProbe: {httpGet: {path: /etc/group, port: 8080}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 5},
		 livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, timeoutSeconds: 5}},
		{name: run, image: $IMAGE, ` + stay + `,
		 readinessProbe: {` + fine + `, periodSeconds: 1, failureThreshold: 3, timeoutSeconds: 10},
		 startupProbe: {` + fine + `, periodSeconds: 1, failureThreshold: 100, timeoutSeconds: 10}}]}`, isReady, probes},
	{"sidecar", `{terminationGracePeriodSeconds: 1,
		initContainers: [{name: first, image: $IMAGE, command: ["true"]},
			{name: beside, image: $IMAGE, restartPolicy: Always, ` + stay + `, startupProbe: {` + fine + `, periodSeconds: 1, failureThreshold: 100, timeoutSeconds: 10}},
			{name: last, image: $IMAGE, command: ["true"]}],
		containers: [{name: main, image: $IMAGE, ` + stay + `, lifecycle: {postStart: {` + fine + `}}}]}`, isReady, probes},
	{"done", jobSpec("Never", "exit 0"), hasPhase(v1.PodSucceeded), comes},
	{"failed", jobSpec("Never", "exit 3"), hasPhase(v1.PodFailed), comes},
	{"once", jobSpec("OnFailure", "exit 0"), hasPhase(v1.PodSucceeded), comes},
	{"late", strings.Replace(jobSpec("Always", "sleep 100000"), "{", "{activeDeadlineSeconds: 4, ", 1), isLate, comes},
	{"never", jobSpec("Never", "sleep 100000"), readyOrOver, stays},
	{"crash", `{terminationGracePeriodSeconds: 1, containers: [{name: a, image: $IMAGE, command: [sh, -c, "sleep 0.5; exit 1"]}]}`, hasContainerStatuses, comes},
}

// churned are the shapes of the pods that come, change and go.
var churned = []shape{
	{"plain", steady[0].spec, isReady, comes},
	{"deaf", `{terminationGracePeriodSeconds: 1, containers: [{name: a, image: $IMAGE, ` + deaf + `}]}`, isReady, comes},
	{"probed", `{terminationGracePeriodSeconds: 1, containers: [{name: a, image: $IMAGE, ` + stay + `,
		readinessProbe: {` + fine + `, periodSeconds: 1, timeoutSeconds: 10}, livenessProbe: {` + fine + `, periodSeconds: 1, timeoutSeconds: 10},
		lifecycle: {preStop: {` + fine + `}}}]}`, isReady, comes},
	{"sidecar", steady[2].spec, isReady, comes},
	{"job", jobSpec("Never", "exit 0"), isOver, comes},
	{"crash", steady[len(steady)-1].spec, hasContainerStatuses, comes},
	{"network", `{hostNetwork: true, terminationGracePeriodSeconds: 1, containers: [{name: a, image: $IMAGE, ` + stay + `}]}`, isReady, comes},
}

// jobSpec returns a pod whose container records each of its runs: the time, and whether a file of an earlier run is in
// the same container.
func jobSpec(policy, end string) string {
	return fmt.Sprintf(`{restartPolicy: %s, terminationGracePeriodSeconds: 1, volumes: [{name: count, hostPath: {path: $COUNT}}],
		containers: [{name: a, image: $IMAGE, volumeMounts: [{%s}],
			command: [sh, -c, 'echo $(cut -d" " -f1 /proc/uptime) $(cat /ran 2>/dev/null) >> /count/$GEN; echo again > /ran; %s']}]}`, policy, count, end)
}

// renderManifest returns the manifest of a pod with a generation as its label.
func (s shape) renderManifest(name, gen, image, counts string) string {
	spec := strings.NewReplacer("$IMAGE", fmt.Sprintf("%q", image), "$COUNT", fmt.Sprintf("%q", counts), "$GEN", gen).Replace(s.spec)
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {gen: %q}}, spec: %s}", name, gen, spec)
}

// kindOf returns the kind of a pod, which its name encodes.
func kindOf(name string) kind {
	for _, s := range steady {
		if s.name == name {
			return s.kind
		}
	}
	return comes
}

// readyOrOver: a pod that does not run again is over when the machine was
// switched off.
func readyOrOver(p *v1.Pod) bool { return isReady(p) || p.Status.Phase == v1.PodFailed }

// isOver: a job has succeeded, or it was being started when an agent died: containerd
// gives up a start whose caller has gone. It may have run, so it does not run again.
func isOver(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed && isGivenUp(p)
}

// isGivenUp reports whether each failed container failed to start, or has exit code 255 because containerd died and did
// not observe the exit.
func isGivenUp(p *v1.Pod) bool {
	for _, c := range p.Status.ContainerStatuses {
		end := c.State.Terminated
		if end == nil || end.ExitCode != 0 && end.ExitCode != 255 && !(end.ExitCode == 128 && end.Reason == "StartError") {
			return false
		}
	}
	return len(p.Status.ContainerStatuses) > 0
}

// isLate reports whether a pod exceeded its active deadline. Such a pod is Failed before its containers have stopped.
// It stays desired and does not run again.
func isLate(p *v1.Pod) bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated == nil {
			return false
		}
	}
	return p.Status.Phase == v1.PodFailed && p.Status.Reason == "DeadlineExceeded"
}

func hasContainerStatuses(p *v1.Pod) bool { return len(p.Status.ContainerStatuses) > 0 }

func hasPhase(phase v1.PodPhase) func(*v1.Pod) bool {
	return func(p *v1.Pod) bool { return p.Status.Phase == phase }
}
