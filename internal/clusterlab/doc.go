// Package clusterlab runs a real control plane for tests: etcd, kube-apiserver and, if a test requests them,
// kube-scheduler and kube-controller-manager. It is a separate module, so that Podkeel does not depend on its
// dependencies.
//
//	go test ./... -cluster      # in this directory
//
// The programs are built once from the modules in kubernetes/go.mod, which takes about 10 minutes on one core.
// They are kept in the user's cache directory, or in the directory of PODKEEL_CLUSTERLAB. Without -cluster the
// tests are skipped. TestContainerd, TestCgroups, TestKubeProxy, TestChurn and TestFigures_Kubelet need the same things as
// internal/e2e: root, containerd, runc, network plugins and busybox.
//
// With PODKEEL_KUBERNETES=1.34, kube-apiserver is of that release, and all other programs stay of Version. server.go has
// the releases. Each is built once, in a module that is written for it. ../COMPATIBILITY.md has the results.
//
// The tests TestLocalAPI need no control plane and build only kubectl. kubectl, an informer of client-go and an
// operator with controller-runtime send requests to an examples/agent. The tests TestLocalAPI_InProcess do not
// even need -cluster: an informer and the operator use a node in the test process, in virtual time.
//
// TestCgroups builds a kubelet too, and compares the cgroups of its pods with the cgroups of the same pods on
// examples/cluster. CGROUPS.md has the result. It needs cgroup v1.
//
// With -figures, the tests TestFigures and TestChanges measure, which takes 25 minutes. The README of
// internal/e2e has the figures. TestFigures_Kubelet also builds a kubelet, and runs it and examples/cluster
// alternately.
//
// The module peer, in a directory of its own, compares the packages of the kubelet with the packages of Podkeel in
// one process.
//
// Start takes about 3 s. A cluster listens on the loopback interface and keeps all files in a temporary
// directory. Stop removes the directory. If the test program is killed, its processes die with it, and another
// process removes the directory.
package clusterlab
