// Package registry parses the names of images and finds their credentials. It is pure.
//
// A name is [host[:port]/]path[:tag][@digest]. One without tag and digest has the tag
// latest. One without a host is of docker.io, and of its library if the path has one part.
// Aliases gives the forms under which two names of one image are equal, because a runtime
// lists images under their whole names and pods use short ones.
//
// Credentials come from the data of Secrets, of the two docker kinds. All whose location
// covers the image are returned: the longest path first, exact hosts before patterns, then
// in the order of the Secrets.
package registry
