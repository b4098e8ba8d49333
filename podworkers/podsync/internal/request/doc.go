// Package request makes the runtime requests of a pod: sandboxes and containers with resolved values
// for security, resources, names, DNS, ports, labels and annotations. It also lists the fields of a pod
// that are not supported, and reads from the annotations of a container how to stop it.
//
// It is pure. The caller passes everything that must be looked up: the resolver configuration of the
// host, the user of an image, variables and mounts.
//
// ParseDNS parses the resolver configuration of the host. The parser of github.com/miekg/dns keeps only
// a few of the options, and a pod gets all of them.
package request
