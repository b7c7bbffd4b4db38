import CommandLineKit
import Glibc

let status = MainThread().run {
    await Program.dormouse.run(
        Array(CommandLine.arguments.dropFirst()),
        console: .standard()
    )
}
exit(status.rawValue)
