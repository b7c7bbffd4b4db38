import CommandLineKit
import Glibc

let status = MainThread.shared.run {
    await Program.dormouse.run(
        Array(CommandLine.arguments.dropFirst()),
        console: .standard()
    )
}
exit(status.rawValue)
