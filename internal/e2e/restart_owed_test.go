//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// waitForCalm waits until nothing is missing. If a sandbox that containerd cannot stop prevents that, it calls
// removeStuckSandboxes and waits once more.
func (r *restarts) waitForCalm(what string, missing func(map[string]*v1.Pod, truth) []string) []string {
	r.Helper()
	last, now := r.pollMissing(calm, missing)
	if len(now) > 0 && r.removeStuckSandboxes() {
		last, now = r.pollMissing(calm, missing)
	}
	if len(now) > 0 {
		r.Fatalf("not within %s: %s:\n%s\n%v", calm, what, strings.Join(now, "\n"), r.watch.findFaults())
	}
	return last
}

// removeStuckSandboxes treats undesired sandboxes that containerd does not stop, as an administrator would: it kills
// their shims and starts containerd again. It reports whether that removed them all. It stops the agent first and then
// makes bare calls, which show the cause: if a bare call stops a sandbox, the agent failed to stop it, and
// removeStuckSandboxes reports false.
func (r *restarts) removeStuckSandboxes() bool {
	r.Helper()
	r.endAgent()
	t, err := listRecords(r.cri)
	if err != nil {
		r.Logf("containerd does not answer: %v", err)
		return false
	}
	var owed []string
	ended, hangs := map[string]string{}, map[string]bool{} // by UID: a pod's other sandboxes wait for one that is not ended
	for _, s := range t.sandboxes {
		pod, uid := podOfLabels(s.GetLabels())
		if r.watch.isDesired(s) {
			continue
		}
		err := removeSandbox(r.Context(), r.cri, s.GetId(), soon)
		if err == nil {
			ended[uid] = s.GetId()
			continue
		}
		r.Logf("containerd does not end sandbox %s of %s for a bare call either: %v\n%s", s.GetId(), pod, err, strings.Join(r.c.Said(s.GetId()), "\n"))
		owed, hangs[uid] = append(owed, s.GetId()), true
	}
	for uid, id := range ended {
		if !hangs[uid] {
			r.Logf("sandbox %s of pod %s could be ended, and the agent has not", id, uid)
			return false
		}
	}
	if len(owed) == 0 {
		return false
	}
	for _, id := range owed {
		r.Logf("sandbox %s has a shim, which is killed: %t", id, r.c.SignalShim(id, syscall.SIGKILL))
	}
	r.watch.excuseSandboxes(owed)
	r.endContainerd()
	r.c.Restart()
	r.startAgent()
	return true
}

// removeSandbox stops and removes a sandbox with direct calls. Each call has the time limit within.
func removeSandbox(ctx context.Context, client cri.RuntimeServiceClient, id string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	_, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
	return err
}
