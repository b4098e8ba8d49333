//go:build linux

package clusterlab_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/internal/e2e"
)

// kubeProxy is kube-proxy as a DaemonSet: privileged, in the network of the host, with the
// host's iptables, a ConfigMap, and the token of its service account.
const kubeProxy = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: kube-proxy}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kube-proxy}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-proxier"}
subjects: [{kind: ServiceAccount, name: kube-proxy, namespace: default}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-proxy}
data:
  kubeconfig: |
    apiVersion: v1
    kind: Config
    clusters: [{name: lab, cluster: {server: "$URL", certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt}}]
    users: [{name: proxy, user: {tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}]
    contexts: [{name: lab, context: {cluster: lab, user: proxy}}]
    current-context: lab
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kube-proxy}
spec:
  selector: {matchLabels: {app: kube-proxy}}
  template:
    metadata: {labels: {app: kube-proxy}}
    spec:
      serviceAccountName: kube-proxy
      hostNetwork: true
      terminationGracePeriodSeconds: 1
      containers:
      - name: c
        image: $IMAGE
        command: [/program/kube-proxy, --kubeconfig=/config/kubeconfig, --hostname-override=n1, --proxy-mode=iptables, --masquerade-all,
          --conntrack-max-per-core=0, --conntrack-tcp-timeout-established=0, --conntrack-tcp-timeout-close-wait=0, --oom-score-adj=0,
          --healthz-bind-address=, --metrics-bind-address=]
        env: [{name: PATH, value: "/usr/sbin:/usr/bin:/bin"}]
        securityContext: {privileged: true}
        volumeMounts:
        - {name: config, mountPath: /config}
        - {name: program, mountPath: /program, readOnly: true}
        - {name: usr, mountPath: /usr, readOnly: true}
        - {name: lib, mountPath: /lib, readOnly: true}
        - {name: lib64, mountPath: /lib64, readOnly: true}
        - {name: alternatives, mountPath: /etc/alternatives, readOnly: true}
        - {name: lock, mountPath: /run/xtables.lock}
      volumes:
      - {name: config, configMap: {name: kube-proxy}}
      - {name: program, hostPath: {path: "$PROGRAMS", type: Directory}}
      - {name: usr, hostPath: {path: /usr}}
      - {name: lib, hostPath: {path: /lib}}
      - {name: lib64, hostPath: {path: /lib64, type: DirectoryOrCreate}}
      - {name: alternatives, hostPath: {path: /etc/alternatives, type: DirectoryOrCreate}}
      - {name: lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hello}
spec:
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: c
        image: $IMAGE
        command: [sh, -c, "echo hello from $(hostname) > /www/index.html; exec httpd -f -p 8080 -h /www"]
        readinessProbe: {httpGet: {port: 8080, path: /index.html}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: hello}
spec: {selector: {app: hello}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: caller}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: $IMAGE, command: $SLEEP}]}
`

// TestKubeProxy: kube-proxy runs as a DaemonSet, and a pod reaches another one through the
// address of a Service. It changes the packet filter rules of the host, and removes the rules of
// another kube-proxy.
func TestKubeProxy(t *testing.T) {
	o := joinContainerd(t, e2e.Containerd2)
	programs, err := clusterlab.Build(t.Context(), "kube-proxy")
	require.NoError(t, err)
	t.Cleanup(func() { // The rules of the host stay behind it otherwise.
		ctx, cancel := context.WithTimeout(context.Background(), joinLimit)
		defer cancel()
		out, err := exec.CommandContext(ctx, filepath.Join(programs, "kube-proxy"), "--cleanup").CombinedOutput()
		assert.NoError(t, err, "%s", out)
		for _, table := range []string{"nat", "mangle", "filter"} { // It leaves these.
			_ = exec.CommandContext(ctx, "iptables", "-w", "-t", table, "-X", "KUBE-KUBELET-CANARY").Run()
		}
	})
	o.applyManifest(strings.NewReplacer("$URL", o.lab.URL(), "$PROGRAMS", programs).Replace(kubeProxy))
	o.rolledOut("daemonset/kube-proxy")
	o.rolledOut("deployment/hello")
	o.kubectl("wait", "--for=condition=Ready", "pod/caller", "--timeout=60s")
	name, address := o.getFields("{.items[0].metadata.name}", "pods", "-l", "app=hello"), o.getFields("{.spec.clusterIP}", "service/hello")
	call := `printf 'GET /index.html HTTP/1.0\r\n\r\n' | nc -w 2 ` + address + " 80 2>&1 | tail -n 1" // A static wget cannot look up names.
	began := time.Now()
	for o.runScript("caller", call) != "hello from "+name+"\n" {
		require.Less(t, time.Since(began), joinLimit, "the last answer: %s", o.runScript("caller", call))
		time.Sleep(200 * time.Millisecond)
	}
	o.kubectl("delete", "pod", "-l", "app=hello")
	o.rolledOut("deployment/hello")
	o.kubectl("delete", "daemonset/kube-proxy", "deployment/hello", "service/hello", "pod/caller")
	o.waitForNoPods()
}
