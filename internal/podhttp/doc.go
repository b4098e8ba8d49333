// Package podhttp connects to pods, for probes and for hooks.
//
// A connection leaves nothing behind: it is not reused, it does not use the proxy of the agent's environment, and its
// address does not stay in TIME_WAIT for a minute. A node with many probes would otherwise run out of ports.
// Certificates are not verified, because a pod has none that the node could verify. The header of a response has at
// most 64 KiB. Redirects are followed only within the host, at most MaxRedirects of them.
package podhttp
