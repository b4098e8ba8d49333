// Package find reads the objects that pods refer to, for the packages that make
// environments and volumes of them. It is no part of internal/volume or internal/environ: those are
// pure, and a search takes a context and calls an Objects.
package find
