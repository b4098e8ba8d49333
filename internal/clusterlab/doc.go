// Package clusterlab runs a real control plane for tests: etcd, kube-apiserver, and, where
// a test asks for them, kube-scheduler and kube-controller-manager. It is a module of its
// own, so that nothing of it is a dependency of Podkeel.
//
//	go test ./... -cluster      # in this directory
//
// The programs are built from the modules that kubernetes/go.mod pins, once: about 10
// minutes of one core. They are kept in the user's cache directory, or in the directory
// that PODKEEL_CLUSTERLAB names. Without -cluster the tests are skipped.
// TestContainerd, TestKubeProxy, TestChurn and TestFigures_Kubelet need what internal/e2e needs: root, a containerd, runc,
// network plugins and busybox.
//
// The tests TestLocalAPI need no control plane: of the programs only kubectl is built. It, an
// informer of client-go and an operator of controller-runtime ask an examples/agent. The tests
// TestLocalAPI_InProcess need nothing, not even -cluster: an informer and the operator ask a node
// in the test itself, in virtual time.
//
// With -figures the tests TestFigures and TestChanges measure, which takes 25 minutes: the
// README of internal/e2e has the figures. TestFigures_Kubelet builds a kubelet, too, and runs
// it and examples/cluster in turns.
//
// Start takes about 3 s. A cluster listens on the loopback interface, keeps everything in
// a temporary directory, and is gone after Stop; also when the test program is killed: its
// processes die with it and another process removes the directory.
package clusterlab
