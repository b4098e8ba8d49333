// Command 7-agent adds the node: package node wires the parts of 6-syncloop and all others with their defaults.
//
//	go run ./examples/tour/7-agent
//
// The program is an agent for static pods: a source reads the manifests of the directory manifests. Every two seconds
// it prints the pods like kubectl get pods. One pod crashes: its container is restarted at once, and the second
// restart waits for ten seconds, by the crash backoff of the PodSyncer. After eight seconds, or on Ctrl-C, Drain stops
// all pods. With node.Config.Runtime the same agent runs containers (package runtime/cri). The program examples/agent
// has flags, logs, state and a Kubernetes API besides.
//
// In the kubelet this is cmd/kubelet/app/server.go: RunKubelet calls NewMainKubelet, which makes the sources
// (makePodSourceConfig) and all parts, and startKubelet calls Kubelet.Run. pkg/kubelet/config/file.go reads the
// manifests. At a shutdown of the machine pkg/kubelet/nodeshutdown terminates the pods, in the order of their
// priorities.
//
// It prints:
//
//	2s crash-edge-1 1/1 Running
//	2s web-edge-1 2/2 Running
//	4s crash-edge-1 1/1 Running, 1 restart
//	4s web-edge-1 2/2 Running
//	6s crash-edge-1 0/1 CrashLoopBackOff, 1 restart
//	6s web-edge-1 2/2 Running
//	8s crash-edge-1 0/1 CrashLoopBackOff, 1 restart
//	8s web-edge-1 2/2 Running
//	drain
//	8s crash-edge-1 0/1 Terminated, 1 restart
//	8s web-edge-1 0/2 Terminated
package main
