// One is a program among any number.
package main
