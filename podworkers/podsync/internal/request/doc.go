// Package request turns a pod into what a runtime is asked for: sandboxes and containers
// with resolved values for security, resources, names, resolvers, ports, labels and
// annotations. It also says what of a pod is not supported, and reads back from the
// annotations of a container how that is to be stopped.
//
// It is pure: whatever has to be looked up (the resolver configuration of the host,
// the user of an image, variables and mounts) is an argument.
//
// The resolver configuration of the host is read here: the parser of github.com/miekg/dns keeps few of
// its options, and a pod gets all of them.
package request
