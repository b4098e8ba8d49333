// Package find reads the ConfigMaps, Secrets, tokens and claims that pods refer to. The packages that
// build environments and volumes use it. It is not part of internal/volume or internal/environ, because
// those are pure, and this package calls interfaces that may block.
package find
