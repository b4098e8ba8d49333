// Package podhttp connects to pods, for probes and for hooks.
//
// A connection keeps nothing behind: it is not reused, the proxy of the agent's
// environment is never used, and its address is not left in TIME_WAIT for a minute,
// as a node with many probes would run out of ports. Certificates are not verified:
// a pod has none that the node could verify. The header of an answer has at most 64
// KiB, and redirects are followed within the host only, at most MaxRedirects of them.
package podhttp
