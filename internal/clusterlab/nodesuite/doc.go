// Command nodesuite runs the node suite of Kubernetes (test/e2e_node) on examples/cluster, and on the kubelet of the same
// release in the same place. It is a separate module, so that Podkeel does not depend on its dependencies.
//
//	go run . -focus 'Pod InPlace Resize'           # both nodes, the specs that match
//	go run . -conformance -node podkeel -procs 12  # NodeConformance without Slow, Serial, Flaky and Disruptive
//	go run . -check                                # fails if a spec that NODESUITE.md marks as passed does not pass
//
// The programs are built from the modules in kubernetes/go.mod: the suite, which contains etcd and the API server, its
// runner ginkgo, the kubelet, and the images. The programs are kept in the same cache as the programs of internal/clusterlab.
//
// A run needs root, containerd, runc, network plugins and a static busybox, as internal/e2e does, and about 25 minutes
// for NodeConformance on two idle cores. It has namespaces of its own for mounts, network, processes and the host name:
// the suite, the node and containerd see an empty /var/lib/kubelet, /var/log/pods and /run/containerd, every port is free,
// and all processes exit with the run. The run shares the cgroups of the machine, and removes its own cgroups afterwards. Process IDs,
// memory and disk are shared with all other work, so specs about eviction need a quiet machine and one node at a time.
//
// # Stand-ins
//
// No image is pulled from a public registry. Images of the upstream names are made of agnhost and other programs of
// the module k8s.io/kubernetes and of the machine's busybox, and a registry in the run serves them.
//
// The suite starts and stops a kubelet with sudo, systemd-run and systemctl. Programs of these names send the requests
// to this program, which starts the node. For examples/cluster it translates the kubelet's configuration file to
// flags, and serves the ports of a kubelet: 10250, where requests without credentials are permitted because the API server of the
// suite has none, the read-only port 10255 and the health port 10248. Requests are forwarded to the node with the
// suite's credentials.
//
// # Results
//
// NODESUITE.md has a row for each spec that has run on a node. The program writes the results; people write the
// last column, which the program keeps: why a spec fails here.
//
// A difference on purpose: if a manifest is removed and written again unchanged within 8 ms, the kubelet restarts the pod and
// Podkeel does not.
package main
