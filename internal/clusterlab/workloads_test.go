package clusterlab_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
)

// workloads are what a cluster runs on a node, each in a cluster without pods.
var workloads = []struct {
	name string
	run  func(*joint)
}{
	{"Deployment", (*joint).checkDeployment},
	{"Job", (*joint).checkJob},
	{"DaemonSet", (*joint).daemonSet},
	{"StatefulSet", (*joint).statefulSet},
	{"Claims", (*joint).checkClaims},
	{"Taints", (*joint).checkTaints},
	{"Force", (*joint).checkForcedDelete},
	{"Debug", (*joint).checkDebug},
	{"Drain", (*joint).checkDrain},
}

// TestWorkloads: what a cluster is used for, with its scheduler and controllers, on the
// runtime in memory.
func TestWorkloads(t *testing.T) {
	j := joinTo(t, startLab(t, clusterlab.Config{Nodes: []string{"n1"}, Scheduler: true, Controllers: []string{"*"}}))
	j.images = [2]string{"web:1", "web:2"}
	j.runWorkloads()
}

func (j *joint) runWorkloads() {
	j.kubectl("wait", "--for=condition=Ready", "node/n1", "--timeout=60s")
	for _, w := range workloads {
		j.Run(w.name, func(t *testing.T) {
			sub := *j
			sub.T, sub.kubectl = t, newKubectl(t, j.lab)
			w.run(&sub)
		})
	}
}

// applyManifest applies a manifest with kubectl. It replaces $IMAGE with the image of containers that sleep, $SLEEP
// with their command, and $DIR with a directory, which it returns.
func (j *joint) applyManifest(manifest string) (dir string) {
	j.Helper()
	dir = j.TempDir()
	path := filepath.Join(dir, "manifest.yaml")
	manifest = strings.NewReplacer("$IMAGE", fmt.Sprintf("%q", j.images[0]), "$DIR", dir, "$SLEEP", "[sleep, 1h]").Replace(manifest)
	require.NoError(j, os.WriteFile(path, []byte(manifest), 0o600))
	j.kubectl("apply", "-f", path)
	return dir
}

// getFields returns the output of kubectl get for a JSONPath template.
func (j *joint) getFields(template string, args ...string) string {
	j.Helper()
	return strings.TrimSpace(j.kubectl(append([]string{"get", "-o", "jsonpath=" + template}, args...)...))
}

// waitForFields repeats kubectl get until the output is equal to want, or, if want begins with "*", contains the rest
// of want.
func (j *joint) waitForFields(want, template string, args ...string) {
	j.Helper()
	end := time.Now().Add(joinLimit)
	for {
		have := j.getFields(template, args...)
		if have == want || want != "" && strings.HasPrefix(want, "*") && strings.Contains(have, want[1:]) {
			return
		}
		require.True(j, time.Now().Before(end), "kubectl get %v: %q, not %q", args, have, want)
		time.Sleep(200 * time.Millisecond)
	}
}

// rolledOut waits until all pods of an object are of its newest template and ready.
func (j *joint) rolledOut(object string) {
	j.Helper()
	j.kubectl("rollout", "status", object, "--timeout=110s")
}

// waitForNoPods waits until the server has no pods, and checks that no container runs.
func (j *joint) waitForNoPods() {
	j.Helper()
	j.waitForRunning()
	assert.Empty(j, j.onMachine())
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: c, image: $IMAGE, command: $SLEEP, readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}}
---`

// checkDeployment rolls out, changes, scales and rolls back a Deployment.
func (j *joint) checkDeployment() {
	j.applyManifest(deployment)
	j.rolledOut("deployment/web")
	began := time.Now()
	j.kubectl("set", "image", "deployment/web", "c="+j.images[1])
	j.rolledOut("deployment/web")
	j.Logf("image changed on 3 pods: %v", time.Since(began).Round(time.Millisecond))
	j.waitForFields(strings.Join([]string{j.images[1], j.images[1], j.images[1]}, " "), "{.items[*].spec.containers[0].image}", "pods", "-l", "app=web")
	j.kubectl("scale", "deployment/web", "--replicas=5")
	j.rolledOut("deployment/web")
	j.kubectl("rollout", "undo", "deployment/web")
	j.rolledOut("deployment/web")
	j.kubectl("scale", "deployment/web", "--replicas=1")
	j.waitForFields(j.images[0], "{.items[*].spec.containers[0].image}", "pods", "-l", "app=web")
	assert.Len(j, j.onMachine(), 1)
	j.kubectl("delete", "deployment", "web")
	j.waitForNoPods()
}

// checkJob runs a Job that completes, a Job that fails, and a Job that is created from a CronJob.
func (j *joint) checkJob() {
	j.applyManifest(`
apiVersion: batch/v1
kind: Job
metadata: {name: sum}
spec:
  completions: 4
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: $IMAGE, command: [sleep, "1"]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: bad}
spec:
  backoffLimit: 1
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: $IMAGE, command: [sh, "-c", "exit 3"]}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: $IMAGE, command: ["true"]}]}}}}
`)
	j.kubectl("create", "job", "--from=cronjob/nightly", "now")
	j.kubectl("wait", "--for=condition=Complete", "job/sum", "job/now", "--timeout=110s")
	j.kubectl("wait", "--for=condition=Failed", "job/bad", "--timeout=110s")
	assert.Equal(j, "4", j.getFields("{.status.succeeded}", "job/sum"))
	assert.Equal(j, "3 3", j.getFields("{.items[*].status.containerStatuses[0].state.terminated.exitCode}", "pods", "-l", "job-name=bad"))
	j.kubectl("delete", "cronjob/nightly", "job/sum", "job/bad")
	j.waitForNoPods()
}

// daemonSet has its pod on the node as long as the node's labels say so, and no loop of
// pods that are refused.
func (j *joint) daemonSet() {
	j.kubectl("label", "node", "n1", "disk=ssd")
	j.applyManifest(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {terminationGracePeriodSeconds: 1, nodeSelector: {disk: ssd}, containers: [{name: c, image: $IMAGE, command: $SLEEP}]}
`)
	j.rolledOut("daemonset/agent")
	first := j.getFields("{.items[*].metadata.uid}", "pods", "-l", "app=agent")
	j.kubectl("label", "node", "n1", "disk=hdd", "--overwrite")
	j.waitForFields("", "{.items[*].metadata.uid}", "pods", "-l", "app=agent")
	j.kubectl("label", "node", "n1", "disk=ssd", "--overwrite")
	j.waitForFields("Running", "{.items[*].status.phase}", "pods", "-l", "app=agent")
	assert.NotEqual(j, first, j.getFields("{.items[*].metadata.uid}", "pods", "-l", "app=agent"))
	j.kubectl("set", "image", "daemonset/agent", "c="+j.images[1])
	j.rolledOut("daemonset/agent")
	assert.Empty(j, j.getFields("{.items[?(@.reason=='NodeAffinity')].message}", "events"))
	j.kubectl("delete", "daemonset", "agent")
	j.waitForNoPods()
}

// disks are persistent volumes in directories of the node: one of the kind hostPath and
// one that is local.
const disks = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-0}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: disks, hostPath: {path: $DIR/disk-0, type: DirectoryOrCreate}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: disks
  local: {path: $DIR}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
---`

// statefulSet has pods with names and volumes of their own, one after the other, that they
// keep when they are replaced.
func (j *joint) statefulSet() {
	dir := j.applyManifest(disks + `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      securityContext: {fsGroup: 2000}
      containers:
      - name: c
        image: $IMAGE
        command: [sh, -c, "hostname >> /data/names; sleep 3600"]
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: disks, resources: {requests: {storage: 1Gi}}}
`)
	j.rolledOut("statefulset/db")
	bound := j.getFields("{.items[*].spec.volumeName}", "pvc")
	j.kubectl("delete", "pod", "db-1")
	j.rolledOut("statefulset/db")
	j.waitForRunning("db-0", "db-1")
	assert.Equal(j, bound, j.getFields("{.items[*].spec.volumeName}", "pvc"))
	if j.machine == nil {
		first, err := os.ReadFile(filepath.Join(dir, "disk-0", "names"))
		require.NoError(j, err)
		second, err := os.ReadFile(filepath.Join(dir, "names"))
		require.NoError(j, err)
		assert.ElementsMatch(j, []string{"db-0\n", "db-1\ndb-1\n"}, []string{string(first), string(second)})
		local, err := os.Stat(filepath.Join(dir, "names"))
		require.NoError(j, err)
		assert.EqualValues(j, 2000, local.Sys().(*syscall.Stat_t).Gid, "a local volume belongs to the pod's group")
	}
	j.kubectl("delete", "statefulset/db", "pvc/data-db-0", "pvc/data-db-1", "pv/disk-0", "pv/disk-1", "storageclass/disks")
	j.waitForNoPods()
}

// checkClaims checks that a pod stays Pending, with a reason, if its claim is not bound, or is bound to a volume that
// the node cannot mount. The pod runs when the claim is bound.
func (j *joint) checkClaims() {
	j.applyManifest(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: far}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: far, nfs: {server: nas, path: /}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: far}
spec: {accessModes: [ReadWriteOnce], storageClassName: far, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: late}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: far}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: $IMAGE, command: $SLEEP, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: far}}]
---
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  nodeName: n1
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: $IMAGE, command: $SLEEP, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: late}}]
`)
	j.waitForFields("*the persistent volume far: its kind nfs is not supported", "{.items[*].message}", "events", "--field-selector=reason=FailedMount,involvedObject.name=far")
	j.waitForFields("*the claim default/late is not bound to a volume", "{.items[*].message}", "events", "--field-selector=reason=FailedMount,involvedObject.name=late")
	assert.Equal(j, "Pending Pending", j.getFields("{.items[*].status.phase}", "pods"))
	assert.Equal(j, "ContainerCreating ContainerCreating", j.getFields("{.items[*].status.containerStatuses[0].state.waiting.reason}", "pods"))
	j.applyManifest(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: late}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: late, hostPath: {path: $DIR}}
`)
	j.waitForFields("Running", "{.status.phase}", "pod/late")
	j.kubectl("delete", "pod/far", "pod/late", "pvc/far", "pvc/late", "pv/far", "pv/late")
	j.waitForNoPods()
}

// checkTaints checks that a taint with the effect NoExecute evicts the pods without a toleration immediately, and the
// pods with tolerationSeconds after that time.
func (j *joint) checkTaints() {
	const pod = `
{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {terminationGracePeriodSeconds: 1, tolerations: [%s], containers: [{name: c, image: $IMAGE, command: $SLEEP}]}}
---`
	j.applyManifest(fmt.Sprintf(pod, "none", "") + fmt.Sprintf(pod, "always", "{key: broken, operator: Exists}") +
		fmt.Sprintf(pod, "while", "{key: broken, operator: Exists, effect: NoExecute, tolerationSeconds: 6}"))
	j.waitForRunning("none", "always", "while")
	began := time.Now()
	j.kubectl("taint", "node", "n1", "broken=yes:NoExecute")
	j.waitForRunning("always", "while")
	j.waitForRunning("always")
	assert.Greater(j, time.Since(began), 5*time.Second)
	j.kubectl("taint", "node", "n1", "broken-")
	j.waitForRunning("always")
	j.kubectl("delete", "pod", "always")
	j.waitForNoPods()
}

// checkForcedDelete checks that a pod can have the name of a force-deleted pod, and that kubectl never sees a phase go
// back.
func (j *joint) checkForcedDelete() {
	bin, err := clusterlab.Build(j.Context(), "kubectl")
	require.NoError(j, err)
	kubeconfig, err := j.lab.Kubeconfig("admin")
	require.NoError(j, err)
	watch := exec.CommandContext(j.Context(), filepath.Join(bin, "kubectl"), "--kubeconfig="+kubeconfig, "get", "pods", "-w", "--no-headers", "-o", "custom-columns=:metadata.uid,:status.phase")
	var out strings.Builder
	watch.Stdout = &out
	require.NoError(j, watch.Start())
	run := func(image string) string {
		j.kubectl("run", "web", "--image="+image, "--", "sleep", "1h")
		j.waitForRunning("web")
		return j.getFields("{.metadata.uid}", "pod/web")
	}
	run(j.images[0])
	j.kubectl("delete", "pod", "web", "--force", "--grace-period=0")
	second := run(j.images[1])
	j.kubectl("delete", "pod", "web", "--grace-period=1")
	j.waitForNoPods()
	_ = watch.Process.Kill()
	_ = watch.Wait()
	order := map[string]string{"Pending": "1", "Running": "2", "Succeeded": "3", "Failed": "3"}
	last := map[string]string{}
	for line := range strings.Lines(out.String()) {
		words := strings.Fields(line)
		require.Len(j, words, 2, line)
		assert.GreaterOrEqual(j, order[words[1]], last[words[0]], out.String())
		last[words[0]] = order[words[1]]
	}
	assert.Contains(j, last, second)
}

// checkDebug adds an ephemeral container to a pod that runs.
func (j *joint) checkDebug() {
	j.kubectl("run", "web", "--image="+j.images[0], "--", "sleep", "1h")
	j.waitForRunning("web")
	j.kubectl("debug", "web", "--image="+j.images[1], "--container=tools", "--profile=general", "--", "sleep", "1h")
	j.waitForFields(j.images[0]+" "+j.images[1], "{.status.containerStatuses[*].image} {.status.ephemeralContainerStatuses[*].image}", "pod/web")
	j.waitForFields("*T", "{.status.ephemeralContainerStatuses[0].state.running.startedAt}", "pod/web")
	assert.Equal(j, "0", j.getFields("{.status.containerStatuses[0].restartCount}", "pod/web"))
	j.kubectl("delete", "pod", "web", "--grace-period=1")
	j.waitForNoPods()
}

// checkDrain drains the node. It evicts as many pods as the budget allows and leaves the pods of a DaemonSet. After
// uncordon the pods run again.
func (j *joint) checkDrain() {
	j.applyManifest(deployment + `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 3, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: $IMAGE, command: $SLEEP}]}
`)
	j.rolledOut("deployment/web")
	j.rolledOut("daemonset/agent")
	j.waitForFields("3", "{.status.disruptionsAllowed}", "pdb/web")
	agent := j.getFields("{.items[*].metadata.uid}", "pods", "-l", "app=agent")
	j.kubectl("drain", "n1", "--ignore-daemonsets", "--timeout=110s")
	assert.Equal(j, agent, j.getFields("{.items[*].metadata.uid}", "pods", "--field-selector=spec.nodeName=n1"))
	assert.Len(j, j.onMachine(), 1)
	j.kubectl("uncordon", "n1")
	j.rolledOut("deployment/web")
	assert.Len(j, j.onMachine(), 4)
	j.kubectl("delete", "deployment/web", "daemonset/agent", "pdb/web")
	j.waitForNoPods()
}
