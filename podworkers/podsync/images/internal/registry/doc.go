// Package registry reads the names of images, and finds the credentials that
// go with them. It is pure.
//
// # Names
//
// A name is [host[:port]/]path[:tag][@digest]. One without tag and digest has
// the tag latest (IM-1). One without a host is of docker.io, and of its library
// if the path has one part only: Aliases gives the forms under which two names
// of one image are equal, since a runtime lists images under their whole names
// and pods use short ones.
//
// # Credentials
//
// They come from the data of Secrets, of the two docker kinds. All whose
// location covers the image are given, the longest path first, exact hosts
// before patterns, and then in the order of the Secrets.
//
// # Differences from the kubelet
//
//   - A path covers whole components: credentials for host/team are not shown to
//     host/teammate.
//   - identitytoken is read, and made the Token of an Auth.
//   - At most MaxAuths credentials are given: each of them is a pull.
package registry
