// Command 7-agent adds the node: package node wires the parts of 6-syncloop and all others with their defaults.
//
//	go run ./examples/tour/7-agent
//
// The program is an agent for static pods: a source reads the manifests of the directory manifests. Every four seconds
// it prints the pods like kubectl get pods. One pod crashes: its container is restarted at once, and the second
// restart waits for ten seconds, by the crash backoff of the PodSyncer. After eight seconds, or on Ctrl-C, Drain stops
// all pods. The drained pods are finished. They stay known to the workers, so housekeeping does not start them again.
//
// With node.Config.Runtime the same agent runs containers (package runtime/cri). This agent stores nothing. The program
// examples/agent has a state directory, and flags, logs and a Kubernetes API. crash_test.go shows what the next agent
// knows after a crash, without and with a state directory.
//
// In the kubelet this is cmd/kubelet/app/server.go: RunKubelet calls NewMainKubelet, which makes the sources
// (makePodSourceConfig) and all parts, and startKubelet calls Kubelet.Run. pkg/kubelet/config/file.go reads the
// manifests. At a shutdown of the machine pkg/kubelet/nodeshutdown terminates the pods, in the order of their
// priorities.
//
// It prints:
//
//	4s crash-edge-1 1/1 Running, 1 restart
//	4s web-edge-1 2/2 Running
//	8s crash-edge-1 0/1 CrashLoopBackOff, 1 restart
//	8s web-edge-1 2/2 Running
//	drain
//	8s crash-edge-1 0/1 Terminated, 1 restart
//	8s web-edge-1 0/2 Terminated
package main
